import { expect, test } from 'vitest'

import { compile, CompileError } from '../../src/index.ts'
import { answering, temporary } from '../inline/inline.ts'

const options = { cacheDirectory: '', compiler: `${process.env['TENON_ZIG']} cc`, name: 'kernels.ts' }

test('zig compiles inline sources, and its errors have a line and a column', async () => {
  const cacheDirectory = temporary('cache')
  expect(await compile(answering(1), { ...options, cacheDirectory })).toMatchObject({ cached: false, warnings: [] })
  const source = `${'\n'.repeat(8)}\tint f(void) { return nope; }`
  const error: unknown = await compile(source, { ...options, cacheDirectory }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CompileError)
  expect((error as CompileError).diagnostics[0]).toMatchObject({ file: 'kernels.ts', line: 9, column: 23 })
})
