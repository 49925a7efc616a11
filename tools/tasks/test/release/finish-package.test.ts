import { expect, test } from 'vitest'

import { withAbsoluteLinks } from '../../src/release/finish-package.ts'

test.each([
  ['see [core](../core/README.md#part)', 'see [core](https://host/repo/blob/main/packages/core/README.md#part)'],
  [
    '[`Library`](../core) and [`a`](src/a.ts)',
    '[`Library`](https://host/repo/blob/main/packages/core) and [`a`](src/a.ts)',
  ],
  ['![a plot](bench/a.svg)', '![a plot](https://host/repo/raw/main/packages/scope/bench/a.svg)'],
  ['[a](https://a.org) [b](#part) [c](mailto:a@a.org)', '[a](https://a.org) [b](#part) [c](mailto:a@a.org)'],
  [
    '`f[0](x)` and\n```ts\ng[1](y)\n```\n[d](../../docs/d.md)',
    '`f[0](x)` and\n```ts\ng[1](y)\n```\n[d](https://host/repo/blob/main/docs/d.md)',
  ],
])('withAbsoluteLinks() of %j', (text, expected) => {
  expect(withAbsoluteLinks(text, 'packages/scope', 'https://host/repo', new Set(['src/a.ts']))).toBe(expected)
})
