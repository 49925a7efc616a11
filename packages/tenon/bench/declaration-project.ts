import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSignature } from '@tenon/core'
import { declarations } from '../src/cli/generate-types.ts'

/** The kernels of one set, with a variable, an optional operand, attributes and several results. @param end of each name of an operand */
const set = (i: number, end: string): [name: string, signature: string][] => [
  [`softmax_${i}`, `(x${end}: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 -- Softmax over the last axis.`],
  [`matmul_${i}`, `(a${end}: T[..., m, k], b: T[..., k, n], bias?: T[n]) -> (c: T[..., m, n]); where T in f32|f64`],
  [`topk_${i}`, `(x${end}: T[..., n]) -> (values: T[..., k], indices: s32[..., k]); k: s64; where T in f32|f64`],
  [
    `gather_${i}`,
    `(x${end}: any[n, d], index: s32[m], ...more: f32[n]) -> (y: f32[m, d]); mode: enum("clip", "wrap") = "clip"`,
  ],
]

/**
 * Three calls of one set. They are in a function, because the compiler follows each use of a variable back through all statements
 * before it, which takes longer than everything else for 1500 statements of a module.
 */
const calls = (i: number): string => `
export function use_${i}(x: Tensor<'float32'>): readonly Tensor<'float32'>[] {
  const y = kernels.softmax_${i}(x, { temperature: 2 })
  return [y, kernels.matmul_${i}(x, y), kernels.topk_${i}(x, { k: 2 }).values]
}
`

/** Every call, but through one function without types. */
const untyped = (i: number): string => `
export function softmax_${i}(...values: unknown[]): Tensor
export function matmul_${i}(...values: unknown[]): Tensor
export function topk_${i}(...values: unknown[]): { readonly values: Tensor; readonly indices: Tensor }
export function gather_${i}(...values: unknown[]): Tensor
`

/**
 * The declarations of a project: those of `tenon types`, of kernels that have the types of other ones or whose operands have names of
 * their own, or declarations without types.
 */
export type Declared = 'alike' | 'distinct' | 'untyped'

/** How the declarations of a project are checked. */
export interface ProjectOptions {
  readonly module?: 'nodenext' | 'bundler'
  readonly skipLibCheck?: boolean
}

/** Writes a project with the declarations of `sets` sets of four kernels, and three calls of each, into a directory. */
export function writeProject(directory: string, sets: number, declared: Declared): void {
  mkdirSync(join(directory, 'node_modules/@types'), { recursive: true })
  symlinkSync(fileURLToPath(new URL('..', import.meta.url)), join(directory, 'node_modules/tenon'))
  const types = fileURLToPath(new URL('../../../node_modules/@types/node', import.meta.url))
  symlinkSync(types, join(directory, 'node_modules/@types/node'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  const indices = Array.from({ length: sets }, (_, i) => i)
  const kernels = indices
    .flatMap((i) => set(i, declared === 'distinct' ? `_${i}` : ''))
    .map(([name, text]) => parseSignature(name, text, { source: 'library' }))
  const text =
    declared === 'untyped'
      ? `import type { Tensor } from 'tenon'\n${indices.map(untyped).join('')}`
      : declarations('libkernels.so', { kernels, functions: [] }).text
  writeFileSync(join(directory, 'kernels.d.ts'), text)
  writeFileSync(join(directory, 'kernels.js'), '')
  const used = indices.map(calls).join('')
  const head = "import type { Tensor } from 'tenon'\nimport * as kernels from './kernels.js'\n"
  writeFileSync(
    join(directory, 'use.ts'),
    head + (declared === 'untyped' ? used.replaceAll("readonly Tensor<'float32'>[]", 'readonly Tensor[]') : used),
  )
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
