import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { compileLibrary } from '../signature-library.ts'

/** Compiles the kernels. Their folder is removed after the tests of the file. */
export function compileKernels(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-tensorflow-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  const source = readFileSync(join(import.meta.dirname, 'kernels.c'), 'utf8')
  return compileLibrary(directory, source, 'libwords.so', 'c', '-Wall', '-Wextra', '-Werror')
}
