import { expect, test } from 'vitest'

import { countNames } from '../src/checks/public-names.ts'

const manifest = (name: string, exports: Readonly<Record<string, string>>): { path: string; text: string } => ({
  path: `packages/${name}/package.json`,
  text: JSON.stringify({
    name: `@tenon/${name}`,
    exports: Object.fromEntries(
      Object.entries(exports).map(([entry, source]) => [entry, { '@tenon/source': `./src/${source}` }]),
    ),
  }),
})

test('countNames() counts the values and types of each public entry', () => {
  const manifests = [
    manifest('a', { '.': 'index.ts', './b': 'b.ts', './internal': 'internal.ts' }),
    manifest('c', { './a': 'a.ts' }),
  ]
  const sources = [
    { path: 'packages/a/src/index.ts', text: "export { f, type T } from './f.ts'\nexport type { U } from './u.ts'" },
    { path: 'packages/a/src/b.ts', text: 'export const one = 1\nexport interface Two {}' },
    { path: 'packages/a/src/internal.ts', text: "export { g } from './g.ts'" },
    { path: 'packages/c/src/a.ts', text: "export * from '@tenon/a'" },
  ]
  expect(countNames(manifests, sources)).toEqual([
    { entry: '@tenon/a', count: 3 },
    { entry: '@tenon/a/b', count: 2 },
  ])
})
