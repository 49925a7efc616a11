import { expect, test } from 'vitest'

import { changesOf, linkParts, releaseNotes } from '../../src/release/release-notes.ts'
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

const umbrella = `# tenon

## 2.0.0

### Major Changes

- 5d6e7f8: The command is new.

### Minor Changes

- 1a2b3c4: Tensors have names.

  They are shown in errors.

### Patch Changes

- Updated dependencies [1a2b3c4]
  - @tenon/core@1.2.0

## 1.0.0

- The first.
`

const part = { name: '@tenon/core', version: '1.2.0', directory: '../core', changelog: core }

test('the changelog of the umbrella links to those of its parts and does not repeat them', () => {
  const linked = linkParts(umbrella, '2.0.0', [part])
  expect(linked).toBe(`# tenon

## 2.0.0

### Major Changes

- 5d6e7f8: The command is new.

### Parts

- [@tenon/core 1.2.0](../core/CHANGELOG.md#120)

## 1.0.0

- The first.
`)
  expect(linkParts(linked, '2.0.0', [part])).toBe(linked)
  expect(linkParts(umbrella, '3.0.0', [part])).toBe(umbrella)
})

test('releaseNotes() has what the changelogs of the packages say of their versions', () => {
  const pkg = packageOf({ name: '@tenon/core', version: '1.1.0' }, { 'CHANGELOG.md': core })
  expect(changesOf(core, '9.9.9')).toBeUndefined()
  expect(releaseNotes([pkg])).toBe('## @tenon/core 1.1.0\n\n### Minor Changes\n\n- An older change.\n')
  expect(releaseNotes([packageOf({ name: 'a', version: '1.0.0' }, {})])).toBe('a 1.0.0\n')
})
