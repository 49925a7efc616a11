import { expect, test } from 'vitest'

import { releaseNotes } from '../../src/release/release-notes.ts'
import { packageOf } from './fixture.ts'

const core = `# @tenon/core

## 1.2.0

### Minor Changes

- 1a2b3c4: Tensors have names.

  They are shown in errors.

### Patch Changes

- Updated dependencies [1a2b3c4]
  - @tenon/binary@1.2.0

## 1.1.0

### Minor Changes

- An older change.
`

test('releaseNotes() has what the changelogs of the packages say of their versions', () => {
  const pkg = packageOf({ name: '@tenon/core', version: '1.1.0' }, { 'CHANGELOG.md': core })
  expect(releaseNotes([pkg])).toBe('## @tenon/core 1.1.0\n\n### Minor Changes\n\n- An older change.\n')
  expect(releaseNotes([packageOf({ name: 'a', version: '1.0.0' }, {})])).toBe('a 1.0.0\n')
})
