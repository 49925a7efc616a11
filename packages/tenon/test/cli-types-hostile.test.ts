import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseSignature, type KernelSignature } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { isDeclarable } from '@tenon/packed-func'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeLibrary } from '../src/cli/describe-library.ts'
import { declarations, relativePlace, wrappers } from '../src/cli/generate-types.ts'
import { usedNames } from '../src/cli/used-names.ts'
import { writeSidecar } from './signature-library.ts'

const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-hostile-types-'))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(directory, 'node_modules/tenon'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
})
afterAll(() => rmSync(directory, { recursive: true }))

const kernel = (name: string, text: string): KernelSignature => parseSignature(name, text, { source: 'library' })

/** Names that mean something to JavaScript, to TypeScript or to the written files. */
const names =
  '$Attributes1 $Kernel1 $Results1 __proto__ abstract accessor any apply arguments Array as asserts async AsyncOptions Attributes await bigint boolean call class ' +
  'constructor declare default defer eval Float32Array from get global globalThis infer Infinity intrinsic is keyof length let meta ' +
  'module name namespace NaN never NoInfer number object of Omit Options out override Partial process Promise prototype readonly ' +
  'Readonly Record require Results satisfies set source string symbol Tensor then toString type undefined unique unknown using ' +
  'Value valueOf yield'

const hostileText =
  '(x: T[n], this: f32, options?: T[n]) -> (a: T[n], then: T[n]); where T in f32|f64; m: enum("a*/b", "/**", "c\\"d") = "a*/b", ' +
  'default: f32 = 1, __proto__: s64 = 2 -- Ends */ export const evil = 1 /*\n */ export const evil = 2 // \u2028export const evil = 3'

describe('tenon types of hostile libraries', () => {
  test('names, variables and documentation cannot break or extend the written files', async () => {
    const types = 'Array AsyncOptions Attributes DType NoInfer Object Options Partial Promise Readonly Results T Tensor'
    const valid = names.split(' ').filter((name) => isDeclarable(name) && !usedNames.has(name))
    const kernels = [
      ...valid.map((name) => kernel(name, hostileText)),
      ...types.split(' ').flatMap((T, i) => {
        const operands = `(x: ${T}[n], y: ${T}[n], z: Tensor_[n])`
        const clauses = `; where ${T} in f32|f64, Tensor_ in s8|s16; k: f32[] = [1], d?: dictionary`
        return [
          kernel(`one${i}`, `${operands} -> (a: ${T}[n])${clauses}`),
          kernel(`two${i}`, `${operands} -> (a: ${T}[n], b: Tensor_[n])${clauses}`),
        ]
      }),
    ]
    expect(valid).toContain('constructor')
    expect(valid).not.toContain('then')
    const library = 'lib\nexport const evil = 1 \u2028export const evil = 2 */.so'
    const exported = { kernels, functions: [] }
    writeFileSync(join(directory, 'kernels.d.ts'), declarations(library, exported).text)
    writeFileSync(join(directory, 'kernels.js'), wrappers([{ place: relativePlace('./absent.so'), exported }]))
    const options = { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, skipLibCheck: false, types: [] }
    const use = `import * as kernels from './kernels.js'\n// @ts-expect-error\nkernels.evil\n`
    writeFileSync(join(directory, 'use.ts'), use)
    writeFileSync(
      join(directory, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: { ...options, customConditions: ['@tenon/source'], allowImportingTsExtensions: true },
        files: ['kernels.d.ts', 'use.ts'],
      }),
    )
    let output = ''
    try {
      execFileSync(process.execPath, [compiler, '-p', '.'], { cwd: directory, encoding: 'utf8', stdio: 'pipe' })
    } catch (error) {
      output = (error as { stdout: string }).stdout
    }
    // The sources of the packages are not checked here.
    expect(output.split('\n').filter((line) => /^(?:kernels|use)\b/.test(line))).toEqual([])
    const imported = (await import(pathToFileURL(join(directory, 'kernels.js')).href)) as object
    expect(Object.keys(imported).toSorted()).toEqual(kernels.map(({ name }) => name).toSorted())
  }, 60_000)

  test('names of a sidecar that are no names of JavaScript are left out', () => {
    const path = join(directory, 'libhostile.so')
    copyFileSync(kernelLibrary('kernels'), path)
    const hostile = [
      "a'+evil()+'",
      'a\nexport const evil = 1',
      'a*/',
      'then',
      'default',
      '__proto__\u2028',
      '${evil}',
      'a b',
    ]
    const entries = hostile.map((name) => [name, { signature: '() -> ()', symbol: 'softmax' }])
    writeSidecar(path, { tenon: 1, kernels: Object.fromEntries([...entries, ['fine', '() -> ()']]) })
    const { exported, left } = describeLibrary(path, { registered: false })
    expect(exported.kernels.map(({ name }) => name).filter((name) => hostile.includes(name))).toEqual([])
    expect(left[0]!.names.filter((name) => hostile.includes(name)).toSorted()).toEqual(hostile.toSorted())
  })
})
