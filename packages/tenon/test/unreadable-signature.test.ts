import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { callCommand } from '../src/cli/call-command.ts'
import { ArgumentError, Library } from '../src/index.ts'
import { runTenon } from './run-tenon.ts'
import { compileLibrary, writeSidecar } from './signature-library.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-unreadable-'))
afterAll(() => rmSync(directory, { recursive: true }))

if (process.platform === 'linux') {
  const path = compileLibrary(
    directory,
    'TN_SIGNATURE(pool, "(x: f32[n]) -> (y: f32[m])");\nTN_XLA_MARK_HOST(pool);\nTN_XLA_EXPORT void pool(void *out, const void **in) {}\nTN_XLA_EXPORT void ml_norm_v2(void *out, const void **in) {}',
  )

  test('a kernel whose only signature cannot be read is refused with the reason, unless its convention is stated', () => {
    using library = Library.open(path)
    const reason = /^pool must have a signature that can be read, got a mistake in column 24: y uses m/
    expect(() => library.kernel('pool')).toThrow(ArgumentError)
    expect(() => library.kernel('pool')).toThrow(reason)
    expect(() => callCommand.start([path, 'pool']).run()).toThrow(reason)
    expect(library.kernel('pool', { convention: 'host' }).signature.source).toBe('none')
    expect(library.kernel('pool', { signature: '(x: f32[n]) -> (y: f32[n])' }).signature.source).toBe('option')
  })

  test('tenon types says why it leaves a kernel out, or why nothing is left', () => {
    const { code, stderr } = runTenon(['types', path, '--output', join(directory, 'pool.js')])
    expect(code).toBe(1)
    expect(stderr).toContain(`the signature of pool in ${path} cannot be read: column 24: y uses m`)
    expect(stderr).toContain('hint: Correct the signature, which comes from the library.')
    const both = compileLibrary(
      directory,
      '#include <tenon/kernel.h>\nTN_KERNEL(one, "(x: f32[n]) -> (y: f32[n])") { (void)in; }\nTN_KERNEL(two, "(x: f32[n]) -> (y: f32[m])") { (void)in; }',
      'libboth.so',
    )
    const written = runTenon(['types', both, '--output', join(directory, 'both.js')])
    expect(written.code).toBe(0)
    expect(written.stderr).toContain(
      'left out, because its signature cannot be read: column 24: y uses m, which no operand and no integer attribute determines: two',
    )
  })

  test('a symbol that the library does not export is refused with those that it does', () => {
    using library = Library.open(path)
    expect(() => library.kernel('relu')).toThrow(
      /does not export a symbol named "relu"[^]*It exports ml_norm_v2, pool\./,
    )
  })

  test('a symbol that a sidecar names otherwise is refused with the name', () => {
    const norm = { signature: '(x: f32[3]) -> (y: f32[3])', symbol: 'ml_norm_v2', convention: 'host' }
    writeSidecar(path, { tenon: 1, kernels: { norm } })
    using library = Library.open(path)
    expect(() => library.kernel('ml_norm_v2')).toThrow(/Hint: Call library\.kernel\("norm"\)/)
  })
}
