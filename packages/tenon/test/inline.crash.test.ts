import { eventually } from '@tenon/config/eventually'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { adding, run, start, temporary } from './inline-program.ts'

const slow = { timeout: 120_000 }

/** Whether this process may become another user, as in a container. */
const isRoot = process.getuid?.() === 0
const nobody = 65_534

/** The user of programs that must not write everywhere, as root may. Undefined for the user of the tests. */
const user = isRoot ? nobody : undefined

/** In a checkout that belongs to root, another user may be unable to read the packages. */
const testReadOnly = isRoot && !isReadable(nobody) ? () => {} : test

function isReadable(uid: number): boolean {
  const source = "require('node:fs').accessSync(require.resolve('tenon'))"
  const cwd = join(import.meta.dirname, '..')
  return spawnSync(process.execPath, ['--eval', source], { cwd, uid, gid: uid, stdio: 'ignore' }).status === 0
}

/** Prints the results of kernels that add 0, 1 and so on to [1, 2]. */
const manyKernels = (count: number): string => `
  const libraries = await Promise.all(Array.from({ length: ${count} }, (_, i) => loadInline(adding(i))))
  const results = libraries.map((library) => library.kernel('add')(tensor([1, 2])).toArray())
  console.log(JSON.stringify(results))
`
const manyResults = (count: number): string =>
  `${JSON.stringify(Array.from({ length: count }, (_, i) => [1 + i, 2 + i]))}\n`

/** The kernels of processes that compile at the same time. */
const COUNT = 4

/** Prints the result of a kernel, or the message of the error. */
const oneKernel = `
  try {
    const library = await loadInline(adding(1), { name: 'kernels.ts' })
    console.log(JSON.stringify(library.kernel('add')(tensor([1, 2])).toArray()))
  } catch (error) {
    console.log(error.name, error.code, error.sentence, error.hint)
  }
`

const libraryIn = (directory: string): string => {
  const [path] = fs.globSync(join(directory, '*/libkernels.*'))
  return path!
}

const names = (directory: string): string[] => fs.readdirSync(directory).toSorted()

test('ten kernels at once in a worker have the right results, cold and warm', slow, async () => {
  const TENON_CACHE_DIR = temporary()
  const imports = `const { tensor } = await import('tenon'), { loadInline } = await import('tenon/build')`
  const inWorker = `
    import { Worker } from 'node:worker_threads'
    const code = ${JSON.stringify(`(async () => { const adding = ${String(adding)}; ${imports}; ${manyKernels(10)} })()`)}
    const worker = new Worker(code, { eval: true })
    worker.on('exit', (code) => (process.exitCode = code))
  `
  for (let round = 0; round < 2; round++) {
    expect(await run(inWorker, { TENON_CACHE_DIR })).toEqual({
      code: 0,
      signal: null,
      stdout: manyResults(10),
      stderr: '',
    })
  }
  expect(fs.readdirSync(join(TENON_CACHE_DIR, 'unfinished'))).toEqual([])
})

test('processes that compile the same kernels at once have the right results', slow, async () => {
  const TENON_CACHE_DIR = temporary()
  const ends = await Promise.all(Array.from({ length: 2 }, () => run(manyKernels(COUNT), { TENON_CACHE_DIR })))
  for (const end of ends) expect(end).toEqual({ code: 0, signal: null, stdout: manyResults(COUNT), stderr: '' })
  expect(names(TENON_CACHE_DIR).filter((name) => name.length === 32)).toHaveLength(COUNT)
  expect(fs.readdirSync(join(TENON_CACHE_DIR, 'unfinished'))).toEqual([])
})

describe('the cache', () => {
  test('in a home where nothing can be made is a clear error, and TENON_CACHE_DIR is the way out', slow, async () => {
    // No user can make directories there.
    const environment = { HOME: '/proc', LOCALAPPDATA: '/proc' }
    const { stdout } = await run(oneKernel, environment)
    expect(stdout).toMatch(/^CompileError TENON_COMPILE the cache of compiled sources \/proc\/\S+ cannot be made: E/)
    expect(stdout).toContain('Set TENON_CACHE_DIR, or the option cacheDirectory')
    const cache = { ...environment, TENON_CACHE_DIR: join(temporary(), 'cache') }
    expect(await run(oneKernel, cache)).toMatchObject({ code: 0, stdout: '[2,3]\n' })
  })

  testReadOnly('that is read-only can be read', slow, async () => {
    const home = temporary()
    if (user !== undefined) fs.chownSync(home, user, user)
    const cache = join(home, '.cache/tenon')
    expect(await run(oneKernel, { HOME: home }, user)).toMatchObject({ code: 0, stdout: '[2,3]\n' })
    const directories = [cache, ...fs.globSync(join(cache, '*'))]
    for (const directory of directories) fs.chmodSync(directory, 0o555)
    onTestFinished(() => directories.forEach((directory) => fs.chmodSync(directory, 0o755)))
    expect(await run(oneKernel, { HOME: home }, user)).toMatchObject({ code: 0, stdout: '[2,3]\n' })
    const other = oneKernel.replace('adding(1)', 'adding(2)')
    expect((await run(other, { HOME: home }, user)).stdout).toMatch(
      /^CompileError TENON_COMPILE the cache of compiled sources \S+ cannot be written: EACCES/,
    )
    const empty = temporary()
    fs.chmodSync(empty, 0o555)
    if (user !== undefined) fs.chownSync(empty, user, user)
    expect((await run(oneKernel, { HOME: empty }, user)).stdout).toMatch(/ cannot be made: EACCES/)
  })

  describe('with a library that', () => {
    let whole: string
    beforeAll(async () => {
      whole = fs.mkdtempSync(join(tmpdir(), 'tenon-inline-'))
      expect(await run(oneKernel, { TENON_CACHE_DIR: whole })).toMatchObject({ stdout: '[2,3]\n' })
    })
    afterAll(() => fs.rmSync(whole, { recursive: true }))

    test('is whole is not compiled again', slow, async () => {
      const { ino, mtimeMs } = fs.statSync(libraryIn(whole))
      expect(await run(oneKernel, { TENON_CACHE_DIR: whole })).toMatchObject({ code: 0, stdout: '[2,3]\n', stderr: '' })
      expect(fs.statSync(libraryIn(whole))).toMatchObject({ ino, mtimeMs })
    })

    test.for<[string, (path: string) => void]>([
      ['is cut off', (path) => fs.truncateSync(path, 4096)],
      ['is empty', (path) => fs.truncateSync(path, 0)],
      [
        'has one other byte',
        (path) => {
          const bytes = fs.readFileSync(path)
          bytes[bytes.length >> 1]! ^= 1
          fs.writeFileSync(path, bytes)
        },
      ],
      ['is text', (path) => fs.writeFileSync(path, 'hello')],
      ['is missing', (path) => fs.rmSync(path)],
      ['has no record', (path) => fs.rmSync(join(path, '../entry.json'))],
    ])('%s is compiled again', slow, async ([, damage]) => {
      const TENON_CACHE_DIR = temporary()
      fs.cpSync(whole, TENON_CACHE_DIR, { recursive: true, preserveTimestamps: true })
      damage(libraryIn(TENON_CACHE_DIR))
      for (let round = 0; round < 2; round++)
        expect(await run(oneKernel, { TENON_CACHE_DIR })).toMatchObject({ code: 0, stdout: '[2,3]\n', stderr: '' })
    })
  })

  test('that is damaged is repaired by processes at once', slow, async () => {
    const TENON_CACHE_DIR = temporary()
    expect(await run(manyKernels(COUNT), { TENON_CACHE_DIR })).toMatchObject({ stdout: manyResults(COUNT) })
    for (const path of fs.globSync(join(TENON_CACHE_DIR, '*/libinline.*'))) fs.truncateSync(path, 100)
    const ends = await Promise.all(Array.from({ length: 3 }, () => run(manyKernels(COUNT), { TENON_CACHE_DIR })))
    for (const one of ends) expect(one).toEqual({ code: 0, signal: null, stdout: manyResults(COUNT), stderr: '' })
    expect(fs.readdirSync(join(TENON_CACHE_DIR, 'unfinished'))).toEqual([])
  })

  test('of another user, or for all users, is a clear error', slow, async () => {
    const open = temporary()
    fs.chmodSync(open, 0o777)
    expect((await run(oneKernel, { TENON_CACHE_DIR: open })).stdout).toMatch(
      /^CompileError TENON_COMPILE the cache of compiled sources \S+ can be written to by other users \(mode 777\)/,
    )
    // Every system has a directory of root, and root can give one away.
    const foreign = isRoot ? temporary() : '/'
    if (isRoot) fs.chownSync(foreign, nobody, nobody)
    expect((await run(oneKernel, { TENON_CACHE_DIR: foreign })).stdout).toMatch(
      / belongs to the user \d+, and this process/,
    )
  })
})

test('a missing compiler is a clear error, and nothing is left', slow, async () => {
  const TENON_CACHE_DIR = temporary()
  const { stdout } = await run(oneKernel, { TENON_CACHE_DIR, PATH: temporary(), CC: undefined })
  expect(stdout).toMatch(
    /^CompileError TENON_COMPILE a C compiler is needed, and (cc|gcc) was not found \(CC is not set, so \1 was tried\) Install a compiler/,
  )
  expect(names(TENON_CACHE_DIR)).toEqual([])
})

test('an error in line 9 is shown with its line when nothing catches it', slow, async () => {
  const source = `
    const source = '\\n' + adding(1).replace('\\n}\\n', '\\n  y = nope;\\n}\\n')
    await loadInline(source, { name: 'kernels.ts' })
  `
  const { code, stderr } = await run(source, { TENON_CACHE_DIR: temporary() })
  expect(code).toBe(1)
  expect(stderr).toMatch(/CompileError: kernels\.ts:9:7: .*nope.*\n  9 \|   y = nope;\n    \|       \^\n/)
})

/** Processes are looked up as Linux shows them. */
const describeOnLinux = process.platform === 'linux' ? describe : () => {}

describeOnLinux('a process that ends while it compiles', () => {
  // The compiler reads for ever.
  const endless = `
    setTimeout(() => {}, 60_000)
    const compiling = compile('#include "/dev/zero"')
  `

  /** Waits until the compiler runs. */
  async function untilCompiling(directory: string): Promise<void> {
    await eventually(() => expect(fs.globSync(join(directory, 'unfinished/*/source.c'))).toHaveLength(1))
    await eventually(() => expect(processesIn(directory).length).toBeGreaterThan(0))
  }

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'by %s leaves nothing that is found later',
    slow,
    async (signal) => {
      const TENON_CACHE_DIR = temporary()
      const { child, ended } = start(endless, { TENON_CACHE_DIR })
      await untilCompiling(TENON_CACHE_DIR)
      const group = processesIn(TENON_CACHE_DIR)
      onTestFinished(() => group.forEach(kill))
      child.kill(signal)
      expect(await ended).toMatchObject({ code: null, signal })
      // Nothing runs when a process is killed, so its compiler goes on.
      if (signal !== 'SIGKILL') await eventually(() => expect(processesIn(TENON_CACHE_DIR)).toEqual([]))
      expect(names(TENON_CACHE_DIR).filter((name) => name.length === 32)).toEqual([])
      expect(await run(oneKernel, { TENON_CACHE_DIR })).toMatchObject({ code: 0, stdout: '[2,3]\n' })
    },
  )

  test('by process.exit() ends the compiler', slow, async () => {
    const TENON_CACHE_DIR = temporary()
    const { child, ended } = start(`process.on('SIGUSR2', () => process.exit(3))\n${endless}`, { TENON_CACHE_DIR })
    await untilCompiling(TENON_CACHE_DIR)
    child.kill('SIGUSR2')
    expect(await ended).toMatchObject({ code: 3 })
    await eventually(() => expect(processesIn(TENON_CACHE_DIR)).toEqual([]))
  })

  test('has its own listener of a signal called, and its compiler goes on', slow, async () => {
    const TENON_CACHE_DIR = temporary()
    const source = `
      process.on('SIGINT', () => console.log('interrupted'))
      const controller = new AbortController()
      compile('#include "/dev/zero"', { signal: controller.signal }).catch((error) => console.log(error.message))
      process.on('SIGUSR2', () => controller.abort(new Error('enough')))
    `
    const { child, ended } = start(source, { TENON_CACHE_DIR })
    await untilCompiling(TENON_CACHE_DIR)
    child.kill('SIGINT')
    await new Promise((resolve) => child.stdout!.once('data', resolve))
    expect(processesIn(TENON_CACHE_DIR).length).toBeGreaterThan(0)
    child.kill('SIGUSR2')
    expect(await ended).toEqual({ code: 0, signal: null, stdout: 'interrupted\nenough\n', stderr: '' })
  })
})

/** The processes of Linux whose command lines contain the path of a directory. */
function processesIn(directory: string): number[] {
  return fs.globSync('/proc/[0-9]*/cmdline').flatMap((path) => {
    try {
      return fs.readFileSync(path, 'utf8').includes(`${directory}/`) ? [Number(path.split('/')[2])] : []
    } catch {
      return []
    }
  })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
