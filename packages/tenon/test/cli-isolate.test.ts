import { isSanitized } from '@tenon/config/sanitizer'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readNpy, tensor, writeNpy } from '../src/index.ts'
import { LONGEST_TIMER, parseDuration, parseSize } from '../src/cli/units.ts'
import { UsageError } from '../src/cli/usage-error.ts'
import { fixture } from './isolation/run-client.ts'
import { runTenon, tenonCommand, type Finished } from './run-tenon.ts'
import { runTenonHere } from './run-tenon-here.ts'

let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'tenon-isolate-'))
  writeNpy(
    join(cwd, 'x.npy'),
    tensor(
      'float32',
      [16],
      Array.from({ length: 16 }, (_, i) => i),
    ),
  )
  for (const fault of [0, 1]) writeNpy(join(cwd, `fault${fault}.npy`), tensor('int32', [1], [fault]))
})
afterAll(() => rmSync(cwd, { recursive: true }))

const run = (...args: string[]): Finished => runTenon(args, { cwd })
const runHere = (...args: string[]): Promise<Finished> => runTenonHere(args, cwd)
const twice = '[ 0.  2.  4.  6.  8. 10. 12. 14. 16. 18. 20. 22. 24. 26. 28. 30.]\n'

// Workers need Linux.
if (process.platform === 'linux') {
  const [faulty, faultyPacked] = [fixture('faulty'), fixture('faulty_packed')]
  const kernels = kernelLibrary('kernels')
  const call = (fault: number, ...flags: string[]): string[] => [
    'call',
    faulty,
    'faulty',
    '--arg',
    'x.npy',
    '--fault',
    String(fault),
    '--isolate',
    ...flags,
  ]

  /** Faults by the numbers of `csrc/fixture/faulty/faults.h`, further flags, and the message. */
  const crashes: (readonly [name: string, fault: number, flags: readonly string[], message: RegExp])[] = [
    [
      'writes to an invalid address',
      1,
      [],
      /^faulty crashed: SIGSEGV writing at address 0xdead000 in \w+ \(faults\.c:\d+\)$/,
    ],
    ['aborts', 2, [], /^faulty crashed: SIGABRT in faulty_run \(faults\.c:\d+\)$/],
    ['overflows the stack', 3, [], /^faulty crashed: SIGSEGV/],
    ['exits', 4, [], /^faulty ended its process with exit code 3$/],
    ['exits at once', 5, [], /^faulty ended its process with exit code 0$/],
    ['runs into an invalid instruction', 6, [], /^faulty crashed: SIGILL in faulty_run \(faults\.c:\d+\)$/],
    ['is killed', 7, [], /^faulty crashed: SIGKILL$/],
    ['hangs', 8, ['--deadline', '300ms'], /^faulty did not finish within 300 ms and was killed$/],
    ['computes forever', 9, ['--deadline', '0.3s'], /^faulty did not finish within 300 ms and was killed$/],
    [
      'throws on a thread of its own',
      14,
      [],
      /^faulty crashed: SIGABRT after std::runtime_error was thrown in run\S* \(throw\.cc:\d+\)$/,
    ],
    ['ends its thread', 15, [], /^faulty ended its main thread$/],
    [
      'writes past its result',
      17,
      ['--guard'],
      /^faulty crashed: SIGSEGV writing at byte 64 of operand 1, which has 64/,
    ],
    [
      'writes to its operand',
      18,
      ['--guard'],
      /^faulty crashed: SIGSEGV writing at byte 12 of operand 0, which has 64/,
    ],
    ['divides by zero', 21, [], /^faulty crashed: SIGFPE in \w+ \(faults\.c:\d+\)$/],
    ['reads an address that no process has', 22, [], /^faulty crashed: SIGSEGV in \w+ \(faults\.c:\d+\)$/],
    ['throws', 23, [], /^faulty threw a C\+\+ exception: thrown on purpose/],
    ['reports an error', 24, [], /^faulty answered FAILED_PRECONDITION: failed on purpose$/],
    [
      'returns when it is cancelled',
      25,
      ['--deadline', '200ms'],
      /^faulty did not finish within 200 ms and was cancelled$/,
    ],
    [
      'crashes on a thread of its own',
      27,
      [],
      /^faulty crashed: SIGSEGV writing at address 0xdead000 in \w+ \(faults\.c:\d+\)$/,
    ],
  ]
  // The allocator of AddressSanitizer does not record what it refuses.
  if (!isSanitized)
    crashes.push([
      'takes all memory',
      10,
      ['--memory', '256MiB'],
      /^faulty needed 67108864 bytes more than the 268435456 bytes/,
    ])

  describe('a kernel that fails in a process of its own ends the command with one message and exit code 3 if it', () => {
    test.each(crashes)('%s', (_name, fault, flags, message) => {
      // A shell allows core files, which there must not be.
      const { status, stdout, stderr } = spawnSync(
        'sh',
        ['-c', 'ulimit -c unlimited; exec "$@"', 'sh', ...tenonCommand, ...call(fault, ...flags)],
        { cwd, encoding: 'utf8' },
      )
      // What the C++ runtime prints comes before.
      const lines = stderr.trimEnd().split('\n')
      const [first, ...rest] = lines.slice(lines.findIndex((line) => line.startsWith('tenon call: ')))
      // The functions and the arguments of a crash are below its message.
      const others = rest.filter((line) => !line.startsWith('  '))
      expect({ status, stdout, rest: others.length <= 1 }).toEqual({ status: 3, stdout: '', rest: true })
      expect(first!.replace('tenon call: ', '')).toMatch(message)
      if (rest.length > 0) expect(rest.at(-1)).toMatch(/^hint: /)
      expect(readdirSync(cwd).filter((name) => name.startsWith('core'))).toEqual([])
    })
  })

  describe('a kernel is contained and gives its result if it', () => {
    test.each([
      ['closes a descriptor', 12],
      ['writes garbage to its sockets', 13],
      ['runs a program', 16],
      ['forks', 28],
    ])('%s', (_name, fault) => {
      expect(run(...call(fault))).toEqual({ code: 0, stdout: twice, stderr: '' })
    })
  })

  test('what a kernel prints appears on stdout, or in the details of --json', () => {
    expect(run(...call(32))).toMatchObject({ code: 3, stdout: 'printed\n' })
    const { stdout } = run(...call(32, '--json'))
    expect(JSON.parse(stdout)).toMatchObject({ error: { details: { output: 'printed\n' } } })
  })

  test.each([
    ['an invalid address', call(1), /^Use --guard to find accesses outside of operands\.$/],
    ['a null pointer', call(33), /^Find the null pointer with the functions above\.$/],
    ['a deadline', call(8, '--deadline', '300ms'), /^Pass a longer --deadline/],
    ['a crash of a later run', call(1, '--repeat', '3', '--workers', '2'), /^Use --guard/],
  ])('the hint of %s names flags, with --json too', async (_name, args, hint) => {
    const [, printed] = /^hint: (.*)$/m.exec((await runHere(...args)).stderr) ?? []
    expect(printed).toMatch(hint)
    expect(JSON.parse((await runHere(...args, '--json')).stdout)).toMatchObject({ error: { hint: printed } })
  })

  test('the functions and the arguments of a crash are printed below its message', async () => {
    const { stderr } = await runHere(...call(1))
    expect(stderr).toMatch(
      /^tenon call: faulty crashed: SIGSEGV writing at address 0xdead000 in \w+ \(faults\.c:\d+\)\n {2}at \w+ faults\.c:\d+ \(/,
    )
    expect(stderr).toMatch(/^ {2}arguments: operand float32\[16\], result float32\[16\], fault = s32\(1\)$/m)
    expect((await runHere(...call(3))).stderr).toMatch(/^ {2}and \d+ more functions, which --json prints$/m)
  })

  test('--json prints the details of the error', async () => {
    const { code, stdout, stderr } = await runHere(...call(17, '--guard', '--json'))
    expect(code).toBe(3)
    expect(stderr).toMatch(/^tenon call: faulty crashed/)
    expect(JSON.parse(stdout)).toEqual({
      library: faulty,
      symbol: 'faulty',
      error: {
        code: 'TENON_KERNEL_CRASH',
        message: expect.stringContaining('at byte 64 of operand 1'),
        hint: expect.any(String),
        details: expect.objectContaining({
          kernel: 'faulty',
          worker: { index: 0, process: expect.any(Number) },
          output: '',
          signal: 'SIGSEGV',
          operand: 1,
          byteOffset: 64,
          access: 'write',
          backtrace: expect.any(Array),
        }),
      },
    })
  })

  test('--json prints the output of a kernel only in the details', () => {
    const { code, stdout } = run(...call(20, '--json'))
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ symbol: 'faulty', convention: 'typed' })
  })

  test('results are those of a call in this process', () => {
    const own = ['call', kernels, 'topk', '--arg', 'x.npy', '--k', '3']
    const isolated = run(...own, '--isolate', '--out', 'values=isolated.npy')
    expect(isolated).toEqual({ ...run(...own, '--out', 'values=own.npy'), stderr: isolated.stderr })
    expect(readFileSync(join(cwd, 'isolated.npy'))).toEqual(readFileSync(join(cwd, 'own.npy')))
    expect(readNpy(join(cwd, 'isolated.npy')).shape).toEqual([3])
  })

  describe('kernels of other conventions', () => {
    const result = ['--result', 'f32[16]', '--isolate']
    const original = ['call', faulty, 'faulty_original', '--arg']
    const unified = ['call', faulty, 'faulty_unified', '--arg', 'x.npy', ...result, '--opaque']
    const packed = ['call', faultyPacked, 'faulty', '--arg', 'x.npy', '--isolate', '--fault']
    test.each([
      ['an untyped kernel', [...original, 'fault0.npy', '--arg', 'x.npy', '--isolate'], 0],
      ['an untyped kernel that crashes', [...original, 'fault1.npy', '--arg', 'x.npy', '--isolate'], 3],
      ['an untyped kernel by hand', [...original, 'fault0.npy', '--arg', 'x.npy', ...result, '--abi', 'host'], 0],
      ['a kernel with an opaque string', [...unified, '0'], 0],
      ['a kernel with an opaque string that crashes', [...unified, '1'], 3],
      ['a packed function', [...packed, '0'], 0],
      ['a packed function that crashes', [...packed, '1'], 3],
    ])('%s', async (_name, args, code) => {
      expect(await runHere(...args)).toEqual({
        code,
        stdout: code === 0 ? twice : '',
        stderr: code === 0 ? '' : expect.stringMatching(/^tenon call: faulty\w* crashed: SIGSEGV/),
      })
    })

    test('a packed function without signature takes and returns values', () => {
      const sum = ['call', kernelLibrary('packed'), 'sum', '--arg', 'int:1', '--arg', 'float:1.5', '--isolate']
      expect(run(...sum)).toEqual({ code: 0, stdout: '2.5\n', stderr: '' })
      expect(JSON.parse(run(...sum, '--json').stdout)).toMatchObject({ convention: 'packed', value: 2.5 })
    })
  })

  test('--repeat measures runs of one worker or of several', async () => {
    for (const workers of ['1', '2']) {
      const { code, stdout, stderr } = await runHere(...call(0, '--repeat', '20', '--workers', workers))
      expect({ code, stdout }).toEqual({ code: 0, stdout: twice })
      expect(stderr).toMatch(/^median .* \(20 runs\)$/m)
    }
  })

  test.each([
    [['--deadline', '1s'], '--deadline must be used with --isolate'],
    [['--guard'], '--guard must be used with --isolate'],
    [
      ['--isolate', '--deadline', '1x'],
      '--deadline must be a duration with a unit, such as 500ms, 1s or inf, and at least 1ms, got 1x',
    ],
    [['--isolate', '--memory', '0MiB'], '--memory must be a number of bytes with a unit, such as 512MiB, got 0MiB'],
    [['--isolate', '--memory', '512'], '--memory must be a number of bytes with a unit, such as 512MiB, got 512'],
    [['--isolate', '--workers', '65'], '--workers must be a whole number from 1 to 64, got 65'],
    [['--isolate', '--host-scratch'], '--isolate cannot be used with --host-scratch'],
    [['--isolate', '--alias', '0=0'], '--isolate cannot be used with --alias'],
  ])('%j is refused with exit code 2', async (flags, message) => {
    const { code, stdout, stderr } = await runHere('call', faulty, 'faulty', '--arg', 'x.npy', ...flags)
    expect({ code, stdout, first: stderr.split('\n')[0] }).toEqual({
      code: 2,
      stdout: '',
      first: `tenon call: ${message}`,
    })
  })
}

test.each([
  ['250ms', 250],
  ['1.5s', 1500],
  ['2 min', 120_000],
  ['1h', 3_600_000],
  ['2000us', 2],
  ['inf', Infinity],
])('the duration %s has %d ms', (text, ms) => {
  expect(parseDuration('--deadline', text)).toBe(ms)
})

test('0 needs no unit where it is a duration, and some durations must end', () => {
  expect(parseDuration('--drain-delay', '0', { least: 0 })).toBe(0)
  expect(parseDuration('--drain-delay', '0s', { least: 0 })).toBe(0)
  expect(parseDuration('--drain-delay', '24h', { most: LONGEST_TIMER })).toBe(86_400_000)
  for (const text of ['inf', '600h'])
    expect(() => parseDuration('--drain-delay', text, { least: 0, most: LONGEST_TIMER })).toThrow(
      `--drain-delay must be a duration with a unit, such as 500ms or 5s, and at most 24 days, got ${text}`,
    )
})

test.each([
  ['4096B', 4096],
  ['512MiB', 2 ** 29],
  ['1.5 GiB', 1.5 * 2 ** 30],
  ['2GB', 2e9],
  ['64kB', 64_000],
])('the size %s has %d bytes', (text, bytes) => {
  expect(parseSize('--memory', text)).toBe(bytes)
})

test.each(['', 'fast', '5', '250', '0.5', '-1s', '1e3', '0', '0s', '1 s s', '1m', '1sec', 'NaN', '0x10', '1toString'])(
  '%j is no duration',
  (text) => {
    expect(() => parseDuration('--deadline', text)).toThrow(UsageError)
  },
)

test.each(['', '-1', '1.5', '4096', '1.0000001KiB', '9999999999TiB', '1M', 'inf', '1 KIB', '1constructor'])(
  '%j is no size',
  (text) => {
    expect(() => parseSize('--memory', text)).toThrow(UsageError)
  },
)
