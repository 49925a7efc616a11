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

describe('tenon inspect', () => {
  test('prints the signature of a kernel and its source', () => {
    const text = inspect(kernelLibrary('kernels'))
    expect(text).toMatch(
      /\n {2}softmax +typed +library +\(x: f32\[\.\.\., c\]\) -> \(y: f32\[\.\.\., c\]\); temperature: f32 = 1/,
    )
    expect(text).toMatch(/\n {2}clip_v1 +typed\n/)
    expect(text).not.toContain('__tn_signature')
    expect(inspect(kernelLibrary('kernels'), '--symbols')).not.toContain('__tn_signature')
  })

  test('does not list the symbols that AddressSanitizer exports beside a signature', () => {
    const path = compileLibrary(
      directory,
      `${typed('f')}TN_SIGNATURE(f, "(x: f32[n]) -> (y: f32[n])");
       char of_gcc __asm__("__odr_asan.f__tn_signature"), of_clang __asm__("__odr_asan_gen_f__tn_signature");`,
    )
    expect(inspect(path)).toContain('(x: f32[n]) -> (y: f32[n])')
    expect(inspect(path)).not.toContain('__odr_asan')
    expect(inspect(path, '--symbols')).not.toContain('__odr_asan')
  })

  test('prints both signatures if two sources differ, and why a signature cannot be read', () => {
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
    test('never prints the control characters of a signature', () => {
      const path = compileLibrary(directory, `${typed('f')}TN_SIGNATURE(f, "() -> (y: f32) -- \\x1b[31mred");`)
      const text = inspect(path)
      expect(text).toMatch(/\n {2}f {2}typed {2}library {2}cannot be read: column 19: /)
      expect(text).not.toContain('\x1b')
      writeFileSync(path, readFileSync(path, 'latin1').replace('() -> (y: f32)', '() -> (y:\x1b[31m)'), 'latin1')
      expect(inspect(path)).not.toContain('\x1b')
    })
})

if (linux)
  describe('tenon inspect', () => {
    const source = `
      void *Norm(void *frame);
      void *Norm(void *frame) { return frame; }
      __attribute__((visibility("default"))) void *PyInit_ops(void);
      void *PyInit_ops(void) { return (void *)Norm; }
    `

    test('lists the hidden functions of a Python extension, and says how to export one', () => {
      const text = inspect(compileLibrary(directory, source, 'ops.so', 'c', '-fvisibility=hidden'))
      expect(text).toMatch(/\nhidden functions \(\d+\)\n {2}Norm\n/)
      expect(text).toMatch(/with hidden visibility, as nanobind builds them: export a handler with TN_XLA_EXPORT/)
      const { hidden } = JSON.parse(
        inspect(compileLibrary(directory, source, 'ops.so', 'c', '-fvisibility=hidden'), '--json'),
      ) as { hidden: string[] }
      expect(hidden).toContain('Norm')
    })

    test('lists no hidden functions of a stripped library, and those of libraries other than Python extensions only with --symbols', () => {
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

if (linux)
  describe('tenon inspect --handlers', () => {
    const source = `
      #include <tenon/xla_handler.h>
      static tn_xla_error_t *run(tn_xla_call_frame_t *frame, int minor) {
        const tn_xla_signature_t signature = {minor, TN_XLA_EXECUTE, 0, 0, 0, 0};
        tn_xla_reader_t in;
        return tn_xla_open(&in, frame, &signature) ? NULL : in.error;
      }
      static tn_xla_error_t *new_one(tn_xla_call_frame_t *frame) { return run(frame, 5); }
      static tn_xla_error_t *old_one(tn_xla_call_frame_t *frame) { return run(frame, 3); }
      TN_XLA_EXPORT tn_xla_error_t *unmarked(tn_xla_call_frame_t *frame) { return run(frame, 3); }
      TN_SIGNATURE(unmarked, "() -> ()");
      static void add(const char *name, tn_xla_handler_t *handler, tn_xla_handler_t *record) {
        const tn_xla_api_t *api = XLA_FFI_GetApi();
        tn_xla_handler_register_args_t args = {
            TN_XLA_SIZE_HANDLER_REGISTER, NULL, {name, strlen(name)}, {"Host", 4}, {NULL, NULL, NULL, handler, record}, 0};
        tn_xla_error_t *error = api->handler_register(&args);
        if (error == NULL) return;
        tn_xla_error_destroy_args_t destroy = {sizeof destroy, NULL, error};
        api->error_destroy(&destroy);
      }
      __attribute__((constructor)) static void start(void) { add("new_one", new_one, NULL); add("old_one", old_one, NULL); add("recorder", old_one, old_one); }
    `

    test('lists the stage record of a handler, which never runs', () => {
      expect(inspect(compileLibrary(directory, source), '--handlers')).toMatch(
        /\n {2}recorder +XLA FFI 0\.3 +execute, record +registered for host\n/,
      )
    })

    test('lists refused registrations with their reason, and asks handlers that only have a signature', () => {
      const path = compileLibrary(directory, source)
      const text = inspect(path, '--handlers')
      expect(text).toMatch(/\n {2}old_one +XLA FFI 0\.3 +execute +registered for host\n/)
      expect(text).toMatch(/\n {2}unmarked +XLA FFI 0\.3\n/)
      expect(text).toMatch(
        /\n {2}new_one +XLA FFI 0\.5 +for host +refused when it registered itself: built for XLA FFI 0\.5/,
      )
      const { handlers } = JSON.parse(inspect(path, '--handlers', '--json')) as { handlers: unknown[] }
      expect(handlers).toContainEqual({
        ...{ name: 'new_one', platform: 'host', stages: [], version: '0.5' },
        error: expect.stringContaining('built for XLA FFI 0.5') as string,
      })
    })
  })
