import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runTenon, tenonShellCommand, type Finished } from './run-tenon.ts'
import { runTenonHere } from './run-tenon-here.ts'

const linux = process.platform === 'linux'
const kernels = kernelLibrary('kernels')
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-cli-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function compile(name: string, source: string, ...flags: string[]): string {
  const output = join(directory, name)
  const input = `${output}.${flags.includes('-std=c++17') ? 'cc' : 'c'}`
  writeFileSync(input, source)
  const compiler = flags.includes('-std=c++17') ? (process.env['CXX'] ?? 'c++') : (process.env['CC'] ?? 'cc')
  execFileSync(compiler, ['-shared', '-fPIC', '-o', output, input, ...flags])
  return output
}

describe('the program', () => {
  test('--version and --help print to stdout without colours', () => {
    expect(runTenon(['--version'])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
    const help = runTenon(['--help'])
    expect(help.code).toBe(0)
    expect(help.stdout).toContain('inspect')
    expect(help.stdout).toContain('call')
    // No colours off a terminal.
    expect(help.stdout).not.toContain('\x1b')
    const inspect = runTenon(['inspect', '--help'])
    expect(inspect.code).toBe(0)
    for (const flag of ['--symbols', '--needed', '--handler', '--json']) expect(inspect.stdout).toContain(flag)
  })

  test('help with a command prints what --help of the command prints', async () => {
    const printed = (...args: string[]): Promise<Finished> => runTenonHere(args, directory)
    expect(runTenon(['help', 'inspect'])).toEqual(await printed('inspect', '--help'))
    expect(await printed('help', 'call')).toEqual(await printed('call', '--help'))
    expect(await printed('help')).toEqual(await printed('--help'))
  })

  if (linux)
    test('inspect finds a library by a bare name, as the loader of the system does', () => {
      const { code, stdout } = runTenon(['inspect', 'libm.so.6', '--json'])
      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({
        path: expect.stringMatching(/^\/.*\/libm\.so\.6$/) as string,
        format: 'elf',
      })
      expect(runTenon(['inspect', 'libmissing.so.6']).stderr).toContain('libmissing.so.6')
    })

  test.each([
    [['help', 'inspcet'], 'tenon: there is no command inspcet', 'Did you mean inspect?'],
    [[], 'tenon: the command is missing', 'tenon inspect'],
    [['inspcet'], 'tenon: there is no command inspcet', 'Did you mean inspect?'],
    [['--versoin'], 'tenon: there is no flag --versoin', 'Did you mean --version?'],
    [['constructor'], 'tenon: there is no command constructor', 'tenon --help'],
    [['inspect'], 'tenon inspect: the argument <library> is missing', undefined],
    [['inspect', 'x', '--symbol'], 'tenon inspect: there is no flag --symbol', 'Did you mean --symbols?'],
    [['inspect', 'x', '--wrong'], 'tenon inspect: there is no flag --wrong', 'Run tenon inspect --help for the list.'],
    [
      ['serve', 'x', '--port', '1'],
      'tenon serve: there is no flag --port',
      'Did you mean --grpc-port or --http-port or --monitoring-port?',
    ],
    [['inspect', 'x', 'y'], 'tenon inspect: unexpected argument y', undefined],
    [['inspect', 'x', '--json', '--json'], 'tenon inspect: --json is given more than once', undefined],
  ])('%j is a usage error', async (args, message, hint) => {
    const { code, stdout, stderr } = await runTenonHere(args, directory)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const [first, second, ...rest] = stderr.trimEnd().split('\n')
    expect(first).toBe(message)
    if (hint === undefined) expect(second).toBeUndefined()
    else expect(second).toMatch(/^hint: /)
    if (hint !== undefined) expect(second).toContain(hint)
    expect(rest).toEqual([])
  })
})

describe('tenon inspect', () => {
  test('lists the marked custom calls and the dependencies of a library', () => {
    const { code, stdout, stderr } = runTenon(['inspect', kernels])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(kernels)
    expect(stdout).toMatch(/\n {2}clip_v1 +typed\n/)
    expect(stdout).toMatch(/\n {2}do_custom_call +host\b/)
    expect(stdout).not.toContain('__xla_')
    if (linux) expect(stdout).toMatch(/needs .*libc\.so\.6/)
  })

  test('--json prints one document', () => {
    const { code, stdout } = runTenon(['inspect', kernels, '--json'])
    const report = JSON.parse(stdout) as Record<string, unknown>
    expect(code).toBe(0)
    expect(report).toMatchObject({
      path: kernels,
      kind: 'shared',
      arch: process.arch,
      bits: 64,
      missing: [],
    })
    expect(report['kernels']).toContainEqual(expect.objectContaining({ name: 'clip_v1', convention: 'typed' }))
    expect(report['kernels']).toContainEqual(expect.objectContaining({ name: 'do_custom_call', convention: 'host' }))
    expect(report['exports']).toContainEqual(
      expect.objectContaining({
        name: 'rms_norm',
        kind: 'function',
        address: expect.stringMatching(/^0x[0-9a-f]+$/) as string,
      }),
    )
  })

  test('--symbols lists all symbols', () => {
    const { stdout } = runTenon(['inspect', kernels, '--symbols'])
    expect(stdout).toMatch(/exported symbols \(\d+\)/)
    expect(stdout).toMatch(/imported symbols \(\d+\)/)
    expect(stdout).toMatch(/\n {2}rms_norm +function +0x/)
  })

  if (linux)
    test('reports the dependencies that are missing', () => {
      compile('libneeded.so', 'int needed(void) { return 1; }')
      const path = compile(
        'libuser.so',
        'int needed(void);\nint puts(const char *);\nint user(void) { return needed() + puts(""); }',
        `-L${directory}`,
        '-lneeded',
      )
      rmSync(join(directory, 'libneeded.so'))
      const text = runTenon(['inspect', path])
      expect(text.code).toBe(0)
      expect(text.stdout).toContain(`missing    libneeded.so (needed by ${path})`)
      const lines = runTenon(['inspect', path, '--needed']).stdout.trimEnd().split('\n')
      expect(lines).toContain('libneeded.so\tmissing')
      expect(lines).toContain('libc.so.6')
    })

  if (linux)
    test('recognises other conventions by their symbols', () => {
      const packed = compile(
        'libpacked.so',
        'int __tvm_ffi_add_one(void *self) { return self != 0; }\nint plain(void) { return 0; }',
      )
      expect(runTenon(['inspect', packed]).stdout).toMatch(
        /packed functions \(tvm-ffi\)\n {2}add_one\n\nfunctions\n {2}plain\n/,
      )
      const status = compile(
        'libstatus.so',
        'void XlaCustomCallStatusSetFailure(void *, const char *, long);\nvoid f(void *o, const void **i, void *s) { XlaCustomCallStatusSetFailure(s, "x", 1); }',
      )
      expect(runTenon(['inspect', status]).stdout).toContain('host-status or host-unified')
      const registers = compile(
        'libregisters.so',
        'const void *XLA_FFI_GetApi(void);\nconst void *f(void) { return XLA_FFI_GetApi(); }',
      )
      expect(runTenon(['inspect', registers]).stdout).toContain('asks for the table of XLA FFI')
    })

  test('--handlers asks all typed handlers for their version and traits', () => {
    const { stdout } = runTenon(['inspect', kernels, '--handlers'])
    expect(stdout).toMatch(/counter_v1_instantiate +XLA FFI 0\.1/)
    expect(stdout).toMatch(/scale_on_stream_v3 +XLA FFI 0\.3 +can be captured in a command buffer/)
    expect(stdout).toMatch(/twice_v5 +XLA FFI 0\.5/)
    expect(stdout).toMatch(/not_ready +not_ready answered FAILED_PRECONDITION/)
    const macro = runTenon(['inspect', kernelLibrary('kernels_macro'), '--handlers'])
    expect(macro.stdout).toMatch(/^ *macro_add +untyped +registered for CUDA$/m)
    expect(macro.stdout).toMatch(/^ *macro_add +untyped +registered for Host$/m)
    expect(macro.stdout).toContain('another function is registered as macro_twice for Host')
    const runtime = runTenon(['inspect', kernelLibrary('kernels_runtime'), '--handlers', '--json'])
    expect((JSON.parse(runtime.stdout) as { handlers: unknown }).handlers).toEqual([
      expect.objectContaining({ name: 'negate', platform: 'host', version: '0.3', stages: ['execute'] }),
    ])
  })

  if (linux)
    test("recognises handlers written with XLA's C++ header by their symbols", () => {
      // The names and the shape of the templates in xla/ffi/api/ffi.h; the bodies do not matter.
      const source = `
      struct XLA_FFI_CallFrame;
      namespace xla { namespace ffi {
      enum class ExecutionStage { kExecute = 3 };
      template <ExecutionStage stage, typename Fn, typename... Ts> struct Handler {
        __attribute__((noinline)) void *Call(XLA_FFI_CallFrame *frame) const { return frame == nullptr ? nullptr : const_cast<Handler *>(this); }
      };
      } }
      extern "C" void *RmsNorm(XLA_FFI_CallFrame *frame) {
        static const xla::ffi::Handler<xla::ffi::ExecutionStage::kExecute, int (*)(float), int, long> handler;
        return handler.Call(frame);
      }
    `
      const { stdout } = runTenon(['inspect', compile('libcpp.so', source, '-std=c++17')])
      expect(stdout).toContain("1 typed handler written with XLA's C++ header")
      expect(stdout).toContain('typed handlers of C++, by their symbols\n  execute(arg int32, arg int64)\n')
      expect(stdout).toMatch(/functions\n {2}RmsNorm\n/)
    })

  if (linux)
    test('escapes control characters in names', () => {
      const path = compile('libevil.so', 'int ev_____il(void) { return 0; }', '-s')
      writeFileSync(path, readFileSync(path, 'latin1').replaceAll('ev_____il', 'ev\x1b[31mil'), 'latin1')
      for (const flags of [[], ['--symbols']]) {
        const { stdout } = runTenon(['inspect', path, ...flags])
        expect(stdout).toContain('ev\\x1b[31mil')
        expect(stdout).not.toContain('\x1b')
      }
    })

  test.each([
    ['absent.so', undefined, 'cannot open absent.so: no such file'],
    ['.', undefined, 'cannot read .: the file is not a shared library, but a directory'],
    ['text.so', 'hello\n', 'the file is not a shared library, but a text file (it begins with "hello'],
    ['empty.so', '', 'the file is not a shared library, but an empty file'],
    ['archive.so', '!<arch>\nx', 'the file is not a shared library, but a static library'],
    ['cut.so', '\x7fELF\x02\x01\x01', 'cannot read cut.so: the ELF identification should be 16 bytes'],
  ])('%s is refused with one message', async (name, content, message) => {
    if (content !== undefined) writeFileSync(join(directory, name), content, 'latin1')
    const { code, stdout, stderr } = await runTenonHere(['inspect', name], directory)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`tenon inspect: `)
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2)
  })

  test('TENON_DEBUG=stack prints the stack trace', () => {
    const { stderr } = runTenon(['inspect', 'absent.so'], { cwd: directory, environment: { TENON_DEBUG: 'x,stack' } })
    expect(stderr).toMatch(/^\s+at /m)
  })

  if (linux)
    test('exits with 0 if the reader closes the pipe early', () => {
      const command = `${tenonShellCommand} inspect "${process.execPath}" --symbols | head -1; exit "\${PIPESTATUS[0]}"`
      const { status, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' })
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    })
})
