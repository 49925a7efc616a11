import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { compileLibrary } from '../signature-library.ts'

/** Compiles the kernels of strings. The library is removed after the tests of the file. */
export function compileKernels(...flags: string[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-strings-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  const source = readFileSync(join(import.meta.dirname, 'kernels.c'), 'utf8')
  return compileLibrary(directory, source, 'libstrings.so', 'c', '-Wall', '-Wextra', '-Werror', ...flags)
}

/** Strings of all forms: without bytes, in a struct, as large as a struct holds, and behind the table. */
export const TEXTS: readonly string[] = [
  '',
  'a',
  'twelve bytes',
  'twenty-two characters.',
  'a text that needs a block',
  'ü'.repeat(3000),
]

export const twiceOf = (texts: readonly string[]): string[] => texts.map((text) => text + text)
export const sizesOf = (texts: readonly string[]): number[] => texts.map((text) => Buffer.byteLength(text))
