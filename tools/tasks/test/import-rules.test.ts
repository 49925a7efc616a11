import { expect, test } from 'vitest'

import { findForbiddenImports, importedModules } from '../src/checks/import-rules.ts'

test('every way to import is seen, and nothing that only looks like one', () => {
  const text = `
    import a from 'a'
    import type { B } from 'b'
    export { c } from 'c'
    export * from 'd'
    const e = await import('e')
    import 'f'
    // import 'comment'
    const glob = 'src/**/*.ts'
    const text = "import 'string'"
  `
  expect(importedModules({ path: 'x.ts', text }).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})

test.each([
  ['packages/scope/src/a.ts', '@tenon/pools', 'never import each other'],
  ['packages/scope/src/a.ts', '@tenon/core/testing', 'never import each other'],
  ['packages/tstring/src/a.ts', 'tenon', 'never import each other'],
  ['packages/pools/src/deep/a.ts', 'koffi', 'never import each other'],
  ['packages/custom-call/src/a.ts', '../../scope/src/index.ts', 'never import each other'],
  ['packages/core/src/memory/a.ts', 'koffi', 'only src/native reaches koffi'],
  ['packages/core/src/native/a.ts', '@tenon/scope', 'the core stands alone'],
  ['packages/tenon/src/a.ts', '@tenon/kernels', 'needs nothing that is not'],
  ['packages/tenon/src/a.ts', 'koffi', 'only the core reaches koffi'],
])('%s may not import %s', (path, name, because) => {
  const [problem, ...more] = findForbiddenImports([{ path, text: `import type { x } from '${name}'\n` }])
  expect(problem).toContain(`${path} imports ${name}: `)
  expect(problem).toContain(because)
  expect(more).toEqual([])
})

test.each([
  ['packages/scope/src/a.ts', '@tenon/core/internal'],
  ['packages/scope/src/deep/a.ts', '../b.ts'],
  ['packages/scope/test/a.test.ts', '@tenon/core/testing'],
  ['packages/core/src/native/driver.ts', 'koffi'],
  ['packages/tenon/src/scope.ts', '@tenon/scope'],
  ['packages/tenon/src/cli.ts', 'citty'],
])('%s may import %s', (path, name) => {
  expect(findForbiddenImports([{ path, text: `import '${name}'\n` }])).toEqual([])
})
