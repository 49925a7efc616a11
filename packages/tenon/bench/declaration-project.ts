import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSignature } from '@tenon/core'
import { declarations } from '../src/cli/generate-types.ts'

/** The kernels of one set, with a variable, an optional operand, attributes and several results. */
const set = (i: number): [name: string, signature: string][] => [
  [`softmax_${i}`, '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 -- Softmax over the last axis.'],
  [`matmul_${i}`, '(a: T[..., m, k], b: T[..., k, n], bias?: T[n]) -> (c: T[..., m, n]); where T in f32|f64'],
  [`topk_${i}`, '(x: T[..., n]) -> (values: T[..., k], indices: s32[..., k]); k: s64; where T in f32|f64'],
  [
    `gather_${i}`,
    '(x: any[n, d], index: s32[m], ...more: f32[n]) -> (y: f32[m, d]); mode: enum("clip", "wrap") = "clip"',
  ],
]

const calls = (i: number): string => `
export const y${i}: Tensor<'float32'> = kernels.softmax_${i}(x, { temperature: 2 })
export const c${i}: Tensor<'float32'> = kernels.matmul_${i}(x, y${i})
export const k${i}: Tensor<'float32'> = kernels.topk_${i}(x, { k: 2 }).values
`

/** Every call, but through one function without types. */
const untyped = (i: number): string => `
export function softmax_${i}(...values: unknown[]): Tensor
export function matmul_${i}(...values: unknown[]): Tensor
export function topk_${i}(...values: unknown[]): { readonly values: Tensor; readonly indices: Tensor }
export function gather_${i}(...values: unknown[]): Tensor
`

/** How the declarations of a project are checked. */
export interface ProjectOptions {
  readonly module?: 'nodenext' | 'bundler'
  readonly skipLibCheck?: boolean
}

/** Writes a project with the declarations of `sets` sets of four kernels, and three calls of each, into a directory. */
export function writeProject(directory: string, sets: number, isTyped: boolean): void {
  mkdirSync(join(directory, 'node_modules/@types'), { recursive: true })
  symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(directory, 'node_modules/tenon'))
  const types = fileURLToPath(new URL('../../../node_modules/@types/node', import.meta.url))
  symlinkSync(types, join(directory, 'node_modules/@types/node'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  const indices = Array.from({ length: sets }, (_, i) => i)
  const kernels = indices.flatMap(set).map(([name, text]) => parseSignature(name, text, { source: 'library' }))
  const declared = isTyped
    ? declarations('libkernels.so', { kernels, functions: [] }).text
    : `import type { Tensor } from 'tenon'\n${indices.map(untyped).join('')}`
  writeFileSync(join(directory, 'kernels.d.ts'), declared)
  writeFileSync(join(directory, 'kernels.js'), '')
  const result = isTyped ? calls : (i: number): string => calls(i).replaceAll("Tensor<'float32'>", 'Tensor')
  const head =
    "import type { Tensor } from 'tenon'\nimport * as kernels from './kernels.js'\ndeclare const x: Tensor<'float32'>\n"
  writeFileSync(join(directory, 'use.ts'), head + indices.map(result).join(''))
}

/** Checks `use.ts` of a project. @param compiler the JavaScript file of a tsc @returns the text that the compiler prints */
export function checkProject(
  directory: string,
  compiler: string,
  { module = 'nodenext', skipLibCheck = true }: ProjectOptions = {},
  ...flags: readonly string[]
): string {
  const resolution = module === 'nodenext' ? { module } : { module: 'esnext', moduleResolution: module }
  const strict = { noEmit: true, strict: true, exactOptionalPropertyTypes: true, target: 'es2024', types: ['node'] }
  const config = { compilerOptions: { ...strict, ...resolution, skipLibCheck }, files: ['use.ts'] }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
  const { stdout, error } = spawnSync(process.execPath, [compiler, ...flags], { cwd: directory, encoding: 'utf8' })
  if (error !== undefined) throw error
  return stdout
}
