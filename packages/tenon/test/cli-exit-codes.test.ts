import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CudaError } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ExitCode, reportFailure } from '../src/cli/failure.ts'
import { runTenon, tenonShellCommand } from './run-tenon.ts'

let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'tenon-codes-'))
  writeFileSync(join(cwd, 'words.txt'), 'one\ntwo\n')
  writeFileSync(join(cwd, 'object.json'), '{}')
  writeFileSync(join(cwd, 'newline.json'), '["a\\nb"]')
})
afterAll(() => rmSync(cwd, { recursive: true }))

const [kernels, packed, throwing] = ['kernels', 'packed', 'kernels_cpp'].map(kernelLibrary) as [string, string, string]
const x = fileURLToPath(new URL('../../weights/test/fixtures/float32.npy', import.meta.url))
const clip = ['call', kernels, 'clip_v1', '--arg', x]
const norm = ['call', kernels, 'rms_norm', '--arg', x]
const eps = ['--attr', 'eps=f32:1e-5']
const y = ['--result', 'f32[2,3]']

test('the table of exit codes lists the codes of the command', () => {
  const page = readFileSync(new URL('../../../docs/command.md', import.meta.url), 'utf8')
  const table = /^\| exit code .*?\n\n/ms.exec(page)![0]
  const codes = [...table.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code))
  expect(codes).toEqual(Object.values(ExitCode))
})

/** Command lines of every command, by the exit code that the table gives them. */
const commandLines: Readonly<Record<string, readonly (readonly string[])[]>> = {
  '0, success': [
    ['--help'],
    ['--version'],
    ['inspect', kernels],
    ['inspect', kernels, '--needed'],
    ['inspect', kernels, '--handler', 'rms_norm'],
    [...norm, ...eps, ...y],
    [...norm, '--eps', '1e-5'],
    [...norm, '--help'],
    ['call', packed, 'sum', '--arg', 'int:1'],
    ['types', packed],
    ['types', kernels],
    ['strings', 'convert', 'words.txt', '--from', 'lines', '--to', 'json'],
    ['doctor'],
  ],
  '1, a file': [
    ['inspect', 'absent.so'],
    ['inspect', 'words.txt'],
    ['call', 'absent.so', 'f'],
    ['call', 'words.txt', 'f'],
    ['call', kernels, 'rms_norm', '--arg', 'absent.npy', ...eps, ...y],
    ['call', kernels, 'rms_norm', '--arg', 'words.txt', ...eps, ...y],
    [...norm, ...eps, '--result', 'f32[2,3]:absent/y.npy'],
    ['types', 'absent.so'],
    ['types', 'words.txt'],
    ['types', throwing],
    ['types', kernels, '--output', 'absent.js', '--check'],
    ['types', packed, '--output', 'absent/kernels.js'],
    ['strings', 'dump', 'absent', '--from', 'lines'],
    ['strings', 'dump', 'words.txt', '--from', 'tflite'],
    ['strings', 'dump', 'words.txt', '--from', 'json'],
    ['strings', 'dump', 'object.json', '--from', 'json'],
    ['strings', 'convert', 'newline.json', '--from', 'json', '--to', 'lines'],
  ],
  '1, a symbol': [
    ['call', kernels, 'rms_nrom'],
    ['call', packed, 'summ'],
    ['call', packed, 'summ', '--abi', 'packed'],
    ['call', kernels, 'absent', '--registered'],
    ['inspect', kernels, '--handler', 'absent'],
  ],
  '1, a type, or an argument that the kernel refuses': [
    [...clip, ...y],
    ['call', kernels, 'topk', '--arg', x, '--k', '9'],
    [...norm, ...eps, '--result', 'f64[2,3]'],
    ['call', kernels, 'rms_norm', '--abi', 'host', '--arg', x, ...y],
    ['call', packed, 'sum', '--arg', 'str:x'],
  ],
  '2, the command line': [
    [],
    ['absent'],
    ['--absent'],
    ['inspect'],
    ['inspect', kernels, '--absent'],
    ['inspect', kernels, '--handler'],
    ['call', kernels],
    [...clip, '--attr', 'low=1e-5', ...y],
    [...norm],
    [...norm, '--attr', 'eps=f64:1'],
    [...norm, '--eps', 'small'],
    [...norm, '--esp', '1'],
    [...norm, '--eps', '1', '--out', 'a=y.npy', '--out', 'b=y.npy'],
    [...norm, '--attr', 'eps=f31:1e-5', ...y],
    [...norm, ...eps, '--result', 'f31[2]'],
    [...norm, ...eps, '--repeat', 'often'],
    [...norm, '--opaque', 'text'],
    ['call', packed, 'sum', '--arg', 'int:x'],
    ['call', packed, 'sum', '--attr', 'a=f32:1'],
    ['types', packed, '--output', 'kernels.tsx'],
    ['types', packed, '--text'],
    ['types', packed, '--check'],
    ['strings', 'list', 'words.txt'],
    ['strings', 'dump', 'words.txt'],
    ['strings', 'dump', 'words.txt', '--from', 'tf'],
    ['strings', 'dump', 'words.txt', '--from', 'utf8'],
    ['strings', 'convert', 'words.txt', '--from', 'lines'],
    ['strings', 'convert', 'words.txt', '--from', 'lines', '--to', 'tf'],
    ['doctor', 'now'],
  ],
  '3, the kernel failed or threw': [
    ['call', kernels, 'fail_with', '--attr', 'code=s32:13', '--attr', 'message=str:broken'],
    ['call', throwing, 'throw_int'],
    ['call', packed, 'fail_as', '--arg', 'str:KeyError'],
  ],
}

describe.each(Object.entries(commandLines))('exit code %s:', (name, rows) => {
  const expected = Number(name[0])
  test.each(rows.map((args) => [args.join(' '), args] as const))('tenon %s', (_text, args) => {
    const { code, stdout, stderr } = runTenon(args, { cwd })
    expect({ code, stderr }).toEqual({
      code: expected,
      stderr: expected === 0 ? stderr : expect.stringMatching(/^tenon/),
    })
    if (expected !== 0) expect(stdout).toBe('')
    expect(stderr).not.toMatch(/^\s+at |unexpected:/m)
  })
})

if (process.platform === 'linux')
  test('the shell reports 128 + n for a signal that ends the kernel', () => {
    writeFileSync(join(cwd, 'crash.c'), 'void crash(void *out, const void **in) { *(volatile int *)8 = 1; }\n')
    execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', 'libcrash.so', 'crash.c'], { cwd })
    const call = `${tenonShellCommand} call libcrash.so crash --abi host --result 'f32[1]'`
    const { status } = spawnSync('sh', ['-c', `${call}; exit $?`], { cwd })
    expect(status).toBe(128 + constants.signals.SIGSEGV)
  })

describe('reportFailure()', () => {
  const failure = (result: number): CudaError =>
    new CudaError({ result, resultName: 'CUDA_ERROR', text: 'text', action: 'the stream' })

  test.each([
    ['a kernel that faults on the device', failure(700), ExitCode.kernelFailed],
    ['a request that the driver refuses', failure(1), ExitCode.userError],
    ['a defect', new TypeError('x is not a function'), ExitCode.userError],
  ])('%s', (_name, error, code) => {
    expect(reportFailure(error, 'tenon call')).toBe(code)
  })
})
