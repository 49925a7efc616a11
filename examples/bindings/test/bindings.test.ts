import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isSanitized } from '@tenon/config/sanitizer'
import { describe, expect, test } from 'vitest'

const directory = fileURLToPath(new URL('..', import.meta.url))
const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

const run = (...args: string[]): SpawnSyncReturns<string> =>
  spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8' })

function linesOf(program: string, ...args: string[]): string[] {
  const { status, stdout, stderr } = run('--disable-warning=ExperimentalWarning', '--expose-gc', program, ...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.trim().split('\n')
}

/** Expects that programs compile with the declarations of the modules that `tenon bind` wrote. */
function expectTypes(...programs: string[]): void {
  const flags =
    '--noEmit --ignoreConfig --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --allowImportingTsExtensions --module nodenext --target esnext --types node'
  expect(run(at('../../node_modules/typescript/bin/tsc'), ...flags.split(' '), ...programs)).toMatchObject({
    status: 0,
    stdout: '',
  })
}

describe('sqlite', () => {
  test('the programs compile with the module', () => {
    expectTypes('src/query.ts', 'src/key-value.ts', 'src/isolated.ts', 'src/soak.ts')
  }, 60_000)

  test('a query with a collation takes at most twelve lines, without an address, and its errors have the text of SQLite', () => {
    const lines = readFileSync(at('src/query.ts'), 'utf8').split('\n')
    const code = lines.filter((line) => line !== '' && !line.startsWith('/**'))
    expect(code.length).toBeLessThanOrEqual(12)
    for (const line of code) expect(line.length).toBeLessThanOrEqual(120)
    expect(code.join('\n')).not.toMatch(/reinterpret|address|MemorySegment|allocate/i)
    expect(linesOf('src/query.ts')).toEqual(['Öhringen', 'Oldenburg'])
    const { status, stderr } = run('--disable-warning=ExperimentalWarning', 'src/query.ts', 'select * from missing')
    expect(stderr).toContain('StatusError: sqlite3_exec returned 1: no such table: missing')
    expect(status).toBe(1)
  })

  test('the store has the order of a collation, errors with the text of SQLite, and refuses uses after its close', () => {
    expect(linesOf('src/key-value.ts')).toEqual([
      'ordered:  Aalen, Öhringen, Oldenburg, Überlingen, Ulm, Zürich',
      'found:    ÜBERLINGEN, and null for a key that is absent',
      'refused:  sqlite3_prepare_v2 returned 1: no such table: stor',
      'closed:   the Statement is closed already',
    ])
  })

  test('the isolated store goes on after the crash of an extension', () => {
    expect(linesOf('src/isolated.ts')).toEqual([
      'isolated:    89073',
      // The sanitizer may find the access before the processor does.
      expect.stringMatching(
        isSanitized
          ? /^crashing: {4}sqlite3_exec crashed: SIG(SEGV|ABRT)/
          : /^crashing: {4}sqlite3_exec crashed: SIGSEGV/,
      ),
      expect.stringMatching(/^lost: {8}sqlite3_reset needs memory of process \d+, which has ended$/),
      'recovering:  89073',
    ])
  })

  test('100,000 statements leave nothing', () => {
    expect(linesOf('src/soak.ts')[0]).toBe('100000 statements; the second half added 0 bytes in SQLite, 0 scopes,')
  }, 120_000)
})

const command = at('../../packages/tenon/dist/cli.cjs')

/** The path of libgit2 if its library and headers for programs are installed. Without them, its program is not tested. */
const git2 = spawnSync(process.env['CC'] ?? 'cc', ['-print-file-name=libgit2.so'], { encoding: 'utf8' }).stdout?.trim()

// A copy of the sources without their history has no log.
if (git2 !== undefined && isAbsolute(git2) && existsSync(at('../../.git')))
  test('git2: the program prints the commits that git does', () => {
    const flags = ['--library', git2, '--annotations', 'src/git2.json', '--output', 'dist/git2']
    expect(run(command, 'bind', 'git2.h', ...flags)).toMatchObject({ status: 0 })
    expectTypes('src/log.ts')
    const { stdout } = spawnSync('git', ['log', '-5', '--date=format-local:%F', '--format=%H %cd %an: %s'], {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    })
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => line.slice(0, 8) + line.slice(40))
    expect(linesOf('src/log.ts', '../..', '5')).toEqual(lines)
  }, 60_000)

/** A release of ONNX Runtime, with its folders include and lib. Without it, its program is not tested. */
const onnxruntime = process.env['TENON_ONNXRUNTIME']

if (onnxruntime !== undefined)
  test('onnxruntime: the event loop goes on while a model writes its output into memory of a scope or of threads', () => {
    const header = join(onnxruntime, 'include/onnxruntime_c_api.h')
    const flags = ['--annotations', 'src/onnxruntime.json', '--output', 'dist/onnxruntime']
    const library = join(onnxruntime, 'lib/libonnxruntime.so')
    expect(run(command, 'bind', header, '--library', library, ...flags)).toMatchObject({ status: 0 })
    expectTypes('src/inference.ts', 'src/strings.ts')
    expect(linesOf('src/inference.ts')).toEqual([
      'result:   256',
      'turns:    the event loop went on',
      'thread:   256',
      'refused:  OrtApi.Run returned 2: Invalid input name: z',
      'closed:   the confined scope is closed already',
    ])
    expect(linesOf('src/strings.ts')).toEqual([
      'joined:   Ulm an der Donau | Zürich, Limmat | Kraków nad Wisłą | nowhere',
      'found:    3, without a string of JavaScript',
      'file:     81 bytes in the layout of TFLite',
    ])
  }, 60_000)
