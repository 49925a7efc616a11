import { eventually } from '@tenon/config/eventually'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { readBinary, TenonError } from '@tenon/binary'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

import { compile, compileSync, CompileError, type CompileOptions } from '../../src/index.ts'
import { answering, headers, temporary } from './inline.ts'

const slow = { timeout: 60_000 }

/** The error of both functions, which is the same. */
async function failure(source: string, options: CompileOptions): Promise<CompileError> {
  const error: unknown = await compile(source, options).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(CompileError)
  expect(() => compileSync(source, options)).toThrow((error as CompileError).sentence)
  return error as CompileError
}

const exportsOf = (path: string): string[] => readBinary(path).exports.map(({ name }) => name)

/** The compilers of this machine. Every machine of the project has gcc. */
const compilers = ['gcc', 'clang'].filter((name) => name === 'gcc' || spawnSync(name, ['--version']).status === 0)

describe.each(compilers)('with %s', slow, (compiler) => {
  test('compile() makes a library, and finds it in the cache', async () => {
    const options = { cacheDirectory: temporary('cache'), compiler }
    const first = await compile(answering(1), options)
    expect(first).toEqual({
      ...first,
      cached: false,
      warnings: [],
      key: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    })
    expect(first.path).toBe(join(options.cacheDirectory, first.key, 'libinline.so'))
    expect(exportsOf(first.path)).toEqual(['answer'])
    expect(await compile(answering(1), options)).toEqual({ ...first, cached: true })
    expect(compileSync(answering(1), options)).toEqual({ ...first, cached: true })
    expect(compileSync(answering(2), options)).toMatchObject({ cached: false })
  })

  test('an error in line 9 names line 9 and its column', async () => {
    const lines = ['#include <tenon/kernel.h>', '', '', 'int f(void);', 'int f(void) {', '  int a = 1;', '', '']
    const source = [...lines, '\tconst int b = nope + a;', '  return b;', '}'].join('\n')
    const name = 'src/kernels.ts'
    const error = await failure(source, { cacheDirectory: temporary(), includes: [headers], compiler, name })
    expect(error.sentence).toMatch(
      /^src\/kernels\.ts:9:16: .*'?nope'?.*\n  9 \|  const int b = nope \+ a;\n    \|                \^$/,
    )
    expect(error).toMatchObject({
      code: 'TENON_COMPILE',
      name: 'CompileError',
      documentation: 'npx tenon explain TENON_COMPILE',
    })
    expect(error.diagnostics[0]).toMatchObject({ severity: 'error', file: name, line: 9, column: 16 })
    expect(error.command[0]).toMatch(new RegExp(`/${compiler}$`))
    expect(error.output).toContain('nope')
  })

  test('a function that is not declared, and one that does not exist, are errors', async () => {
    const options = { cacheDirectory: temporary(), compiler, name: 'x.c' }
    const undeclared = await failure('int f(void);\nint f(void) { return nope(); }', options)
    expect(undeclared.diagnostics[0]).toMatchObject({ severity: 'error', file: 'x.c', line: 2, column: 22 })
    const source = 'int nope(void);\n__attribute__((visibility("default"))) int f(void) { return nope(); }'
    const missing = await failure(source, options)
    expect(missing.sentence).toMatch(/^x\.c:2: undefined reference to [`']nope'\n  2 \| __attribute__/)
  })

  test('warnings do not fail, and are known of libraries from the cache as well', async () => {
    const options = { cacheDirectory: temporary(), compiler, name: 'x.c' }
    const source = 'int f(int x);\nint f(int x) { return 1; }'
    const { warnings } = await compile(source, options)
    expect(warnings).toMatchObject([{ severity: 'warning', file: 'x.c', line: 2, column: 11 }])
    expect(compileSync(source, options)).toMatchObject({ cached: true, warnings })
  })

  test('C++ is compiled as C++17', async () => {
    const options = { cacheDirectory: temporary(), compiler, language: 'c++' } as const
    const source = `#include <optional>
      extern "C" __attribute__((visibility("default"))) int f() { return std::optional<int>(1).value(); }`
    expect(exportsOf((await compile(source, options)).path)).toContain('f')
    const error = await failure('int f() { return nope; }', options)
    expect(error.diagnostics[0]).toMatchObject({ file: 'inline.cc', line: 1, column: 18 })
  })
})

test('packed functions leave the functions of the process undefined', slow, () => {
  const source = `#include <tenon/tvm_ffi.h>\nint TVMFFISomething(void);\nint f(void);\n
    __attribute__((visibility("default"))) int f(void) { return TVMFFISomething(); }`
  const { path } = compileSync(source, { cacheDirectory: temporary(), includes: [headers] })
  expect(readBinary(path).imports.map(({ name }) => name)).toContain('TVMFFISomething')
})

test('each input that changes the library changes the key', slow, async () => {
  const cacheDirectory = temporary('cache')
  const includes = temporary('include')
  fs.mkdirSync(includes)
  const header = join(includes, 'answer.h')
  fs.writeFileSync(header, '#define ANSWER 1\n')
  const source = `#include "answer.h"\n${answering(1).replace('return 1', 'return ANSWER')}`
  const base: CompileOptions = { cacheDirectory, includes: [includes], compiler: 'cc' }
  const variations: CompileOptions[] = [
    base,
    { ...base, variant: 'debug' },
    { ...base, name: 'other.c' },
    { ...base, flags: ['-DA', '-DB=C'] },
    { ...base, flags: ['-DA-DB=C'] },
    { ...base, libraries: ['dl'] },
    { ...base, compiler: 'gcc' },
    { ...base, language: 'c++' },
  ]
  const keys = [compileSync(`${source}\n`, base).key]
  for (const options of variations) keys.push((await compile(source, options)).key)
  fs.writeFileSync(header, '#define ANSWER 2\n')
  keys.push(compileSync(source, base).key)
  vi.stubEnv('CPATH', '/nowhere')
  keys.push(compileSync(source, base).key)
  vi.unstubAllEnvs()
  expect(new Set(keys).size).toBe(keys.length)
  expect(compileSync(source, base)).toMatchObject({ cached: true, key: keys.at(-2) })
})

test('CC chooses the compiler, with its arguments', slow, async () => {
  const cacheDirectory = temporary('cache')
  onTestFinished(() => void vi.unstubAllEnvs())
  vi.stubEnv('CC', 'gcc -DANSWER=42')
  const source = answering(0).replace('return 0', 'return ANSWER')
  expect((await compile(source, { cacheDirectory })).cached).toBe(false)
  vi.stubEnv('CC', 'gcc')
  const error = await failure(source, { cacheDirectory })
  expect(error.diagnostics[0]).toMatchObject({ line: 2, severity: 'error' })
})

test('directories of PATH that do not exist or are no directories are passed over', slow, () => {
  const file = temporary('file')
  fs.writeFileSync(file, '')
  vi.stubEnv('PATH', `/no/such/directory:${file}::${process.env['PATH']}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(compileSync(answering(1), { cacheDirectory: temporary('cache') }).cached).toBe(false)
})

test('a compiler that was replaced is asked for its version again', slow, () => {
  const cacheDirectory = temporary('cache')
  const compiler = temporary('my compiler')
  const write = (version: string): void => {
    const rest = `case $1 in --version) echo ${version};; *) exec gcc "$@";; esac\n`
    fs.writeFileSync(compiler, `#!/bin/sh\n${rest}`, { mode: 0o755 })
  }
  write('1.0')
  const { key } = compileSync(answering(1), { cacheDirectory, compiler })
  expect(compileSync(answering(1), { cacheDirectory, compiler })).toMatchObject({ cached: true, key })
  write('2.0')
  expect(compileSync(answering(1), { cacheDirectory, compiler }).cached).toBe(false)
})

describe('a compiler that cannot be used is a CompileError with an instruction', () => {
  test('if it is missing', async () => {
    const error = await failure(answering(1), { cacheDirectory: temporary(), compiler: 'no-such-cc -O2' })
    expect(error.sentence).toBe(
      'a C compiler is needed, and no-such-cc was not found (the option compiler is no-such-cc -O2)',
    )
    expect(error.hint).toMatch(/^Install a compiler \(.*\), or set CC to the command of one\.$/)
    expect(error).toMatchObject({ diagnostics: [], command: [], output: '' })
  })

  test('if PATH is empty', async () => {
    vi.stubEnv('PATH', '')
    vi.stubEnv('CC', undefined)
    onTestFinished(() => void vi.unstubAllEnvs())
    const error = await failure(answering(1), { cacheDirectory: temporary() })
    expect(error.sentence).toBe('a C compiler is needed, and cc was not found (CC is not set, so cc was tried)')
  })

  test('if it is another program', async () => {
    const error = await failure(answering(1), { cacheDirectory: temporary(), compiler: 'false' })
    expect(error.sentence).toMatch(/false --version failed, so it is not a compiler that Tenon knows/)
  })

  test('if it is a file that cannot be run', async () => {
    const compiler = temporary('cc')
    fs.writeFileSync(compiler, '#!/no/such/interpreter\n', { mode: 0o755 })
    const error = await failure(answering(1), { cacheDirectory: temporary(), compiler })
    expect(error.sentence).toContain(`${compiler} could not be run: `)
  })

  test('if a signal ends it', slow, async () => {
    const compiler = temporary('cc')
    const script = 'case $1 in -*version|-dumpmachine) echo 1;; *) echo half; kill -SEGV $$;; esac'
    fs.writeFileSync(compiler, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const error = await failure(answering(1), { cacheDirectory: temporary(), compiler })
    expect(error.sentence).toBe(`inline.c: ${compiler} failed with SIGSEGV (signal 11)\nhalf`)
  })
})

describe('a compiler that does not end', () => {
  // Reads for ever.
  const endless = '#include "/dev/zero"'

  test('is ended after the timeout, with the programs that it has started', slow, async () => {
    const cacheDirectory = temporary('cache')
    const error = await failure(endless, { cacheDirectory, timeout: 300 })
    expect(error.sentence).toBe('inline.c: the compiler did not end within 300 ms')
    expect(fs.readdirSync(join(cacheDirectory, 'unfinished'))).toEqual([])
    await eventually(() => expect(processesThatMention(cacheDirectory)).toEqual([]))
  })

  test('is ended when the signal is aborted', slow, async () => {
    const cacheDirectory = temporary('cache')
    const controller = new AbortController()
    const compiling = compile(endless, { cacheDirectory, signal: controller.signal })
    await eventually(() => expect(fs.readdirSync(join(cacheDirectory, 'unfinished'))).toHaveLength(1))
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(compiling).rejects.toBe(reason)
    expect(fs.readdirSync(join(cacheDirectory, 'unfinished'))).toEqual([])
    await eventually(() => expect(processesThatMention(cacheDirectory)).toEqual([]))
    await expect(compile(answering(1), { cacheDirectory, signal: controller.signal })).rejects.toBe(reason)
    expect(() => compileSync(answering(1), { cacheDirectory, signal: controller.signal })).toThrow(reason)
  })
})

/** The processes of Linux whose command lines contain a text. */
function processesThatMention(text: string): string[] {
  const paths = fs.globSync('/proc/[0-9]*/cmdline')
  return paths.filter((path) => {
    try {
      return fs.readFileSync(path, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

describe('many compilations at once', () => {
  /** A compiler that notes in a directory that it runs, and does not end before there is a file with the name go. */
  function waitingCompiler(directory: string): string {
    const compiler = join(directory, 'cc')
    const wait = `touch ${directory}/runs-$$; while [ ! -e ${directory}/go ]; do sleep 0.02; done`
    const script = `case $1 in -*version|-dumpmachine) echo 1;; *) ${wait}; exec gcc "$@";; esac`
    fs.mkdirSync(directory)
    fs.writeFileSync(compiler, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return compiler
  }
  const running = (directory: string): number => fs.globSync(join(directory, 'runs-*')).length

  test('run as many compilers as there are processors', slow, async () => {
    const directory = temporary('compiler')
    const options = { cacheDirectory: temporary('cache'), compiler: waitingCompiler(directory) }
    const count = availableParallelism()
    const all = Array.from({ length: count + 3 }, (_, i) => compile(answering(i), options))
    await eventually(() => expect(running(directory)).toBe(count))
    // Nothing tells when another one would have started.
    await sleep(300)
    expect(running(directory)).toBe(count)
    fs.writeFileSync(join(directory, 'go'), '')
    expect(new Set((await Promise.all(all)).map(({ key }) => key)).size).toBe(count + 3)
    expect(running(directory)).toBe(count + 3)
  })

  test('can be aborted while they wait, and the others go on', slow, async () => {
    const directory = temporary('compiler')
    const options = { cacheDirectory: temporary('cache'), compiler: waitingCompiler(directory) }
    const all = Array.from({ length: availableParallelism() }, (_, i) => compile(answering(i), options))
    await eventually(() => expect(running(directory)).toBe(all.length))
    const controller = new AbortController()
    const aborted = compile(answering(-1), { ...options, signal: controller.signal })
    const last = compile(answering(-2), options)
    controller.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    fs.writeFileSync(join(directory, 'go'), '')
    expect((await Promise.all([...all, last])).every(({ cached }) => !cached)).toBe(true)
    expect(fs.readdirSync(join(options.cacheDirectory, 'unfinished'))).toEqual([])
  })
})

test('the output of a compiler is cut off after a mebibyte', slow, async () => {
  const compiler = temporary('cc')
  const script =
    'case $1 in -*version|-dumpmachine) echo 1;; *) head -c 8000000 /dev/zero | tr "\\0" x >&2; exit 1;; esac'
  fs.writeFileSync(compiler, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const error = await failure(answering(1), { cacheDirectory: temporary(), compiler })
  expect(error.output).toHaveLength(1 << 20)
  expect(error.sentence.length).toBeLessThan(20_000)
})

test.each<[unknown, unknown, string]>([
  [1, {}, 'source must be a string, got 1'],
  ['\0', {}, 'source must be text without NUL, got "\\u0000"'],
  ['', null, 'options must be an object, got null'],
  ['', { nmae: 'x' }, 'options must not have the option "nmae"'],
  ['', { language: 'rust' }, 'language must be one of c, c++, cuda, got "rust"'],
  ['', { variant: 'tsan' }, 'variant must be one of release, debug, asan, got "tsan"'],
  ['', { name: 'a\nb' }, 'name must be text without control characters, got "a\\nb"'],
  ['', { name: '' }, 'name must be text without control characters, got ""'],
  ['', { flags: '-O3' }, 'flags must be an array of strings, got "-O3"'],
  ['', { flags: ['-O3', 2] }, 'flags[1] must be text without control characters, got 2'],
  ['', { flags: [undefined] }, 'flags[0] must be text without control characters, got undefined'],
  ['', { libraries: [''] }, 'libraries[0] must be text without control characters, got ""'],
  ['', { includes: {} }, 'includes must be an array of strings, got an object'],
  ['', { compiler: [] }, 'compiler must be text without control characters, got an array'],
  ['', { signal: {} }, 'signal must be an AbortSignal, got an object'],
  ['', { timeout: 0 }, 'timeout must be a number of milliseconds above 0, got 0'],
  ['', { timeout: Number.NaN }, 'timeout must be a number of milliseconds above 0, got NaN'],
])('compile(%j, %j) is refused', async (source, options, message) => {
  const call = [source, options] as [string, CompileOptions]
  const error: unknown = await compile(...call).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(TenonError)
  expect(error).toMatchObject({ code: 'TENON_ARGUMENT' })
  expect((error as TenonError).sentence).toContain(message)
  expect(() => compileSync(...call)).toThrow(message)
})

test('names with quotes, spaces and long names are shown as they are', slow, async () => {
  const cacheDirectory = temporary('cache')
  for (const name of ['a "quoted" b\\c.ts', 'é ✓.c', `${'x'.repeat(200)}.c`, '...', '../up/kernels.ts']) {
    const { path } = compileSync(answering(1), { cacheDirectory, name })
    expect(path).toMatch(/\/lib[\w-]{1,64}\.so$/)
    const error = await failure('int f(void) { return nope; }', { cacheDirectory, name })
    expect(error.diagnostics.find(({ severity }) => severity === 'error')).toMatchObject({ file: name, line: 1 })
  }
})
