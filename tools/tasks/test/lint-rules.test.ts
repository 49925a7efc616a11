import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { root } from '../src/lib/root.ts'
import { captureTool } from '../src/lib/run-tool.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-lint-'))
  copyFileSync(join(root, '.oxlintrc.json'), join(directory, '.oxlintrc.json'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Lints files as `pnpm check lint` does and returns what oxlint prints; empty if there is nothing to report. */
async function lint(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  const { code, stdout } = await captureTool('oxlint', ['--deny-warnings'], { cwd: directory })
  return code === 0 ? '' : stdout
}

describe('imports', () => {
  test.each([
    ['packages/scope/src/a.ts', '@tenon/pools', 'never import each other'],
    ['packages/scope/src/a.ts', '@tenon/pools/hidl', 'never import each other'],
    ['packages/scope/src/a.ts', '@tenon/core/testing', 'never import each other'],
    ['packages/tstring/src/a.ts', 'tenon', 'never import each other'],
    ['packages/pools/src/deep/a.ts', 'koffi', 'never import each other'],
    ['packages/pools/src/a.ts', '@tenon/nnapi', 'never import each other'],
    ['packages/isolate/src/a.ts', '@tenon/custom-call', 'Isolation stands on @tenon/core and @tenon/pools'],
    ['packages/isolate/src/a.ts', '@tenon/nnapi', 'Isolation stands on @tenon/core and @tenon/pools'],
    ['packages/nnapi/src/a.ts', 'tenon', 'NNAPI stands on @tenon/core, @tenon/pools and @tenon/isolate'],
    ['packages/custom-call/src/a.ts', '../../scope/src/index.ts', 'never import each other'],
    ['packages/core/src/memory/a.ts', 'koffi', 'only its src/native reaches koffi'],
    ['packages/core/src/memory/a.ts', '@tenon/build', 'only its src/native reaches koffi'],
    ['packages/core/src/native/a.ts', '@tenon/scope', 'The core stands on @tenon/binary alone'],
    ['packages/binary/src/a.ts', '@tenon/core', 'The leaf stands alone'],
    ['packages/build/src/a.ts', '@tenon/core', 'The build tool stands on @tenon/binary alone'],
    ['packages/tenon/src/a.ts', '@tenon/kernels', 'depends on published packages alone'],
    ['packages/tenon/src/a.ts', 'koffi', 'only the core reaches koffi'],
  ])('%s must not import %s', async (path, name, because) => {
    const forms = [`import type { x } from '${name}'\nexport type y = x\n`, `export { x } from '${name}'\n`]
    for (const text of forms) {
      const report = await lint({ [path]: text })
      expect(report).toContain('no-restricted-imports')
      expect(report).toContain(because)
    }
  })

  test.each([
    ['packages/scope/src/a.ts', '@tenon/core/internal'],
    ['packages/scope/src/deep/a.ts', '../b.ts'],
    ['packages/scope/src/linker/a.ts', '../scope/b.ts'],
    ['packages/scope/test/a.test.ts', '@tenon/core/testing'],
    ['packages/core/src/native/driver/koffi.ts', 'koffi'],
    ['packages/core/src/errors/kinds.ts', '@tenon/binary'],
    ['packages/tenon/src/scope.ts', '@tenon/scope'],
    ['packages/isolate/src/a.ts', '@tenon/pools/internal'],
    ['packages/nnapi/src/a.ts', '@tenon/isolate/internal'],
  ])('%s may import %s', async (path, name) => {
    expect(await lint({ [path]: `export { x } from '${name}'\n` })).toBe('')
  })
})

test('refuses files that import each other in a circle, also with type imports', async () => {
  const circle = {
    'packages/scope/src/a.ts': "import type { B } from './b.ts'\n\nexport interface A {\n  readonly b: B\n}\n",
    'packages/scope/src/b.ts': "import type { C } from './c.ts'\n\nexport interface B {\n  readonly c: C\n}\n",
    'packages/scope/src/c.ts': "import type { A } from './a.ts'\n\nexport interface C {\n  readonly a: A\n}\n",
  }
  expect(await lint(circle)).toContain('no-cycle')
  expect(await lint({ ...circle, 'packages/scope/src/c.ts': 'export interface C {\n  readonly a: number\n}\n' })).toBe(
    '',
  )
})

test('refuses types that import() names, which hide a circle', async () => {
  const code = "export type A = import('./b.ts').B\n"
  expect(await lint({ 'packages/scope/src/a.ts': code })).toContain('consistent-type-imports')
})

describe('addresses as numbers with their bits', () => {
  test.each([
    ['packages/scope/src/a.ts', 'export const tag = 3 * Number.MIN_VALUE\n'],
    ['packages/pools/src/a.ts', 'export const tag = 3 * Number.MIN_VALUE\n'],
    ['packages/core/src/a.ts', 'export function pointerBits(): void {}\n'],
    ['packages/pools/src/a.ts', 'export const write = (view: DataView): void => view.setFloat64(0, 1)\n'],
  ])('are refused in %s', async (path, text) => {
    expect(await lint({ [path]: text })).toMatch(/no-restricted-(properties|exports)/)
  })

  test('are not suspected in setters of float64 values', async () => {
    expect(
      await lint({
        'packages/scope/src/a.ts': 'export const write = (view: DataView): void => view.setFloat64(0, 1)\n',
      }),
    ).toBe('')
  })
})

test('refuses files with more than 400 lines', async () => {
  const path = 'packages/scope/src/a.ts'
  const lines = (count: number): string => `export const x = 1\n${'// x\n'.repeat(count - 1)}`
  expect(await lint({ [path]: lines(400) })).toBe('')
  expect(await lint({ [path]: lines(401) })).toContain('max-lines')
})
