import { mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { runTenon } from '../run-tenon.ts'
import { typeCheck } from './type-check.ts'

const here = dirname(fileURLToPath(import.meta.url))
// In the package, so that the module finds tenon.
const directory = mkdtempSync(join(here, 'module-'))
afterAll(() => rmSync(directory, { recursive: true }))

// `pnpm test:headers` does the same with the headers of 52 packages, two versions of TypeScript, and three of Node.js.
test('the modules of headers with every kind of declaration have types that fit, and are imported', async () => {
  const headers = { torture: [join(here, '../../../bind/test/torture.h')], system: ['stdio.h', 'math.h', 'netdb.h'] }
  for (const [name, files] of Object.entries(headers)) {
    const { code, stderr } = runTenon(['bind', ...files, '--output', join(directory, name)])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const module = (await import(pathToFileURL(join(directory, name, 'index.js')).href)) as object
    expect(Object.keys(module).length).toBeGreaterThan(20)
  }
  const program = `import * as torture from './torture/index.js'
    import * as system from './system/index.js'
    export const value: number = system.cos(torture.REAL)
    // @ts-expect-error a number is not a text
    export const text: string = system.cos(torture.REAL)`
  expect(typeCheck(directory, 'use.ts', program)).toBe('')
})
