import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLibrary } from '@tenon/kernels'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sidecarPath } from '../src/signatures/sidecar.ts'
import { runTenon } from './run-tenon.ts'
import { compileLibrary, writeSidecar } from './signature-library.ts'

const linux = process.platform === 'linux'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-inspect-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function inspect(path: string, ...flags: string[]): string {
  const { code, stdout, stderr } = runTenon(['inspect', path, ...flags])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

const typed = (name: string): string => `int ${name}(void *frame) { return frame != 0; }\n`

describe('rule 23: tenon inspect', () => {
  test('prints the signature of a kernel and its source', () => {
    const text = inspect(kernelLibrary('kernels'))
    expect(text).toMatch(
      /\n {2}softmax +typed +library +\(x: f32\[\.\.\., c\]\) -> \(y: f32\[\.\.\., c\]\); temperature: f32 = 1/,
    )
    expect(text).toMatch(/\n {2}rms_norm +typed\n/)
    expect(text).not.toContain('__tn_signature')
    expect(inspect(kernelLibrary('kernels'), '--symbols')).not.toContain('__tn_signature')
  })

  test('prints both signatures if two sources differ, and why a text cannot be read', () => {
    const path = compileLibrary(
      directory,
      `${typed('f')}TN_SIGNATURE(f, "(x: f32[n]) -> (y: f32[n]) -- Of several\\nlines.");
       ${typed('g')}TN_SIGNATURE(g, "(x: f33[n]) -> ()");
       int __tvm_ffi_add(void *self) { return self != 0; }
       TN_SIGNATURE(add, "(a: f32[n]) -> (b: f32[n])");`,
    )
    writeSidecar(path, {
      tenon: 1,
      kernels: {
        f: '(x: f64[n]) -> (y: f64[n])',
        g: '() -> (y: f32)',
        negate: { signature: '(x: f32) -> (y: f32)', registered: true, platform: 'CUDA' },
        away: '() -> ()',
      },
    })
    const lines = inspect(path).split('\n')
    const start = lines.indexOf('custom calls')
    expect(lines.slice(start + 1, start + 9).map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
      ' | away | typed, not exported | sidecar | () -> ()',
      ' | f | typed | library | (x: f32[n]) -> (y: f32[n]) -- Of several lines.',
      ' | sidecar | (x: f64[n]) -> (y: f64[n]) (differs, not used)',
      ' | g | typed | sidecar | () -> (y: f32)',
      expect.stringMatching(/^ \| library \| cannot be read: column 5: /) as string,
      ' | (x: f33[n]) -> ()',
      ' | ^',
      ' | negate | typed, registered for CUDA | sidecar | (x: f32) -> (y: f32)',
    ])
    expect(inspect(path)).toMatch(
      /packed functions \(tvm-ffi\)\n {2}add {4}library {2}\(a: f32\[n\]\) -> \(b: f32\[n\]\)\n/,
    )
    const { kernels } = JSON.parse(inspect(path, '--json')) as { kernels: Record<string, unknown>[] }
    expect(kernels.map(({ name }) => name)).toEqual(['add', 'away', 'f', 'g', 'negate'])
    expect(kernels[2]).toEqual({
      ...{ name: 'f', convention: 'typed', symbol: 'f', source: 'library', isComplete: true, unreadable: [] },
      signature: '(x: f32[n]) -> (y: f32[n]) -- Of several\nlines.',
      differing: [{ source: 'sidecar', signature: '(x: f64[n]) -> (y: f64[n])' }],
    })
    expect(kernels[3]).toMatchObject({ source: 'sidecar', unreadable: [{ source: 'library' }] })
  })

  test('reports a sidecar that cannot be read, and describes the library', () => {
    const path = compileLibrary(directory, `${typed('f')}TN_SIGNATURE(f, "() -> (y: f32)");`)
    writeSidecar(path, { tenon: 1, kernels: {}, sha256: 'a'.repeat(64) })
    const text = inspect(path)
    expect(text).toContain(`  sidecar    cannot read ${sidecarPath(path)}: sha256 must be that of the library`)
    expect(text).toMatch(/\n {2}f {2}typed {2}library {2}\(\) -> \(y: f32\)/)
  })

  if (linux)
    test('escapes control characters in signatures', () => {
      const path = compileLibrary(directory, `${typed('f')}TN_SIGNATURE(f, "() -> (y: f32) -- \\x1b[31mred");`)
      expect(inspect(path)).toContain('-- \\x1b[31mred')
      const unreadable = readFileSync(path, 'latin1').replace('() -> (y: f32)', '() -> (y:\x1b[31m)')
      writeFileSync(path, unreadable, 'latin1')
      expect(inspect(path)).not.toContain('\x1b')
    })
})

if (linux)
  describe('rule 47: tenon inspect', () => {
    const source = `
      void *Norm(void *frame);
      void *Norm(void *frame) { return frame; }
      __attribute__((visibility("default"))) void *PyInit_ops(void);
      void *PyInit_ops(void) { return (void *)Norm; }
    `

    test('lists the functions of a Python extension that are hidden, and says how to export one', () => {
      const text = inspect(compileLibrary(directory, source, 'ops.so', 'c', '-fvisibility=hidden'))
      expect(text).toMatch(/\nhidden functions \(\d+\)\n {2}Norm\n/)
      expect(text).toMatch(/with hidden visibility, as nanobind builds them: export a handler with TN_XLA_EXPORT/)
      const { hidden } = JSON.parse(
        inspect(compileLibrary(directory, source, 'ops.so', 'c', '-fvisibility=hidden'), '--json'),
      ) as { hidden: string[] }
      expect(hidden).toContain('Norm')
    })

    test('lists none for a stripped library, and those of other libraries only with --symbols', () => {
      const flags = ['-fvisibility=hidden', '-s']
      expect(inspect(compileLibrary(directory, source, 'ops.so', 'c', ...flags))).not.toContain('hidden')
      const helpers = compileLibrary(directory, `static ${typed('help')}int (*f)(void *) = help;`)
      expect(inspect(helpers)).not.toContain('hidden')
      expect(inspect(helpers, '--symbols')).toMatch(/\nhidden functions \(\d+\)\n[^]*\n {2}help\n/)
    })

    test('says that the function of a signature is hidden', () => {
      const kernel = `${typed('f')}TN_SIGNATURE(f, "() -> (y: f32)");`
      const text = inspect(compileLibrary(directory, kernel, 'libf.so', 'c', '-fvisibility=hidden'))
      expect(text).toMatch(/\n {2}f {2}typed, hidden {2}library {2}\(\) -> \(y: f32\)\n/)
      expect(text).toContain('TN_XLA_EXPORT')
    })
  })
