import { expect, test } from 'vitest'

import { finishPackage } from '../../src/release/finish-package.ts'
import { packageOf, project } from './fixture.ts'

test.each([
  [
    'see [core](../core/README.md#part)',
    'see [core](https://github.com/owner/tenon/blob/main/packages/core/README.md#part)',
  ],
  [
    '[`Library`](../core) and [`a`](dist/a.js)',
    '[`Library`](https://github.com/owner/tenon/blob/main/packages/core) and [`a`](dist/a.js)',
  ],
  ['![a plot](bench/a.svg)', '![a plot](https://github.com/owner/tenon/raw/main/packages/scope/bench/a.svg)'],
  ['[a](https://a.org) [b](#part) [c](mailto:a@a.org)', '[a](https://a.org) [b](#part) [c](mailto:a@a.org)'],
  [
    '`f[0](x)` and\n```ts\ng[1](y)\n```\n[d](../../docs/d.md)',
    '`f[0](x)` and\n```ts\ng[1](y)\n```\n[d](https://github.com/owner/tenon/blob/main/docs/d.md)',
  ],
])('the links of %j lead somewhere in a package that is published', (text, expected) => {
  const pkg = packageOf({ name: 'a', version: '1.0.0' }, { 'README.md': text, 'dist/a.js': '' })
  const context = { project, directory: 'packages/scope', notice: '', platformPackages: [] }
  expect(finishPackage(pkg, context).files.get('README.md')!.bytes.toString()).toBe(expected)
})
