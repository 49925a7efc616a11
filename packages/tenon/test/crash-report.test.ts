import { execFileSync, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isSanitized } from '@tenon/config/sanitizer'
import { type ScriptResult } from '@tenon/core/testing'
import { compileCrashes, lineOf, runCrash } from './crash-program.ts'
import { runTenonHere } from './run-tenon-here.ts'

const INCLUDE = fileURLToPath(new URL('../../core/include', import.meta.url))
const cwd = fileURLToPath(new URL('..', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'tenon-crash-report-'))
let library: string
let directory: string
let count = 0

beforeAll(() => {
  library = compileCrashes(root)
})
beforeEach(() => {
  directory = join(root, `reports-${count++}`)
  mkdirSync(directory)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const run = (script: string, env: Record<string, string> = {}): Promise<ScriptResult> => runCrash(library, script, env)

const reports = (): string[] =>
  readdirSync(directory)
    .filter((name) => name.startsWith('tenon-crash-'))
    .map((name) => join(directory, name))

interface Report {
  readonly signal: string
  readonly call?: { kernel: string; convention: string; types: string[]; stack: string[] }
  readonly frames: readonly object[]
}

const readReport = (): Report => {
  const [file, ...others] = reports()
  expect(others).toEqual([])
  return JSON.parse(readFileSync(file!, 'utf8')) as Report
}

const report = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runTenonHere(['report', ...args], directory)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

/** The statements of `innermost()`, and the descriptions of their calls. */
const WAYS: readonly (readonly [way: string, call: string, convention: string, text: string])[] = [
  ['a C function', `NativeLibrary.open(path).function('fault', number)(0)`, 'function', 'fault(int32)'],
  [
    'a C function on a thread of the pool',
    `void NativeLibrary.open(path).function('fault', number).async(0)`,
    'function',
    'fault(int32)',
  ],
  [
    'a custom call',
    `Library.open(path).kernel('fault_kernel')(tensor('f32', [2, 3]), tensor('i32', [], [7]), { which: 0 })`,
    'typed',
    'fault_kernel(float32[2, 3], int32[])',
  ],
  [
    'a custom call on a thread of the pool',
    `void Library.open(path).kernel('fault_kernel').async(tensor('f32', [2, 3]), tensor('i32', [], [7]), { which: 0 })`,
    'typed',
    'fault_kernel(float32[2, 3], int32[])',
  ],
  [
    'a packed function',
    `Module.open(path).get('fault_packed')(0, 'text', 1.5)`,
    'packed',
    'fault_packed(int, str, float)',
  ],
]

describe.runIf(process.platform === 'linux' && !isSanitized)('a crash in a native call', { timeout: 60_000 }, () => {
  /** The processes run at the same time. */
  let crashes: readonly Promise<ScriptResult>[]
  const folderOf = (index: number): string => join(root, `way-${index}`)
  beforeAll(() => {
    crashes = WAYS.map(([, call], index) => {
      mkdirSync(folderOf(index))
      const script = `
        function innermost() { ${call} }
        async function outer() {
          await null
          innermost()
        }
        await outer()
      `
      return run(script, { TENON_CRASH_REPORT: folderOf(index) })
    })
  })

  test.each(WAYS)('of %s has the kernel, its types and the callers', async (way, _call, convention, text) => {
    const index = WAYS.findIndex(([name]) => name === way)
    const folder = folderOf(index)
    const { code, signal, stderr } = await crashes[index]!
    expect([code, signal]).toEqual([null, 'SIGSEGV'])
    const [name, ...others] = readdirSync(folder)
    expect(others).toEqual([])
    const file = join(folder, name!)
    const kind = way.endsWith('pool') ? 'a thread of the pool' : 'a thread of JavaScript'
    const [first, ...lines] = stderr.trimEnd().split('\n')
    expect(first).toMatch(/^tenon: SIGSEGV writing at address 0x4, a null pointer \+ 4 in /)
    expect(first).toContain(` in ${text} (process `)
    expect(first).toContain(`, ${kind})`)
    expect(lines[0]).toMatch(/^ {2}at libfaults\.so\+0x[\da-f]+$/)
    const callers = lines.filter((line) => line.startsWith('  called at '))
    expect(callers[0]).toMatch(/^ {2}called at innermost \((?:file:\/\/)?\/.*:\d+:\d+\)$/)
    expect(callers[1]).toMatch(/^ {2}called at outer \((?:file:\/\/)?\//)
    expect(lines.at(-2)).toBe(`  report: ${file}`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const { call: found, ...content } = JSON.parse(readFileSync(file, 'utf8')) as Report
    expect(content).toMatchObject({
      format: 'tenon-crash',
      version: 1,
      signal: 'SIGSEGV',
      node: process.version,
      thread: kind,
    })
    expect(`${found!.kernel}(${found!.types.join(', ')})`).toBe(text)
    expect([found!.convention, found!.stack.slice(0, 2).map((line) => `  called at ${line}`)]).toEqual([
      convention,
      callers.slice(0, 2),
    ])
    const printed = await runTenonHere(['report', file], root)
    expect(printed.stdout).toMatch(
      /^SIGSEGV writing at address 0x4, a null pointer \+ 4 in leaf \(libfaults\.so\.c:\d+\)\n/,
    )
    expect(printed.stdout).toContain(`\n  at leaf libfaults.so.c:${lineOf('leaf')} (libfaults.so+`)
    expect(printed.stdout).toContain(`\nin ${text}, convention ${convention}\n  called at innermost (`)
    expect(printed.stdout).not.toContain('tenon.node')
  })

  test('in a worker thread, below a callback, is reported after installCrashReporter()', async () => {
    const script = `
      import { asScript } from '@tenon/config/as-script'
      installCrashReporter({ directory: process.env.REPORTS })
      installCrashReporter({ directory: process.env.REPORTS })
      const source = \`
        import { NativeLibrary } from '@tenon/core'
        import { makeStub } from '@tenon/core/internal'
        const number = \${JSON.stringify(number)}
        const library = NativeLibrary.open(process.env.FAULTS)
        const fault = library.function('fault', number)
        function inner() {
          fault(7)
          if (Error.stackTraceLimit !== 1 || Error.prepareStackTrace.name !== 'own') process.abort()
          return fault(0)
        }
        const stub = makeStub(number, inner, { foreignThread: 'wait' }, 'the result')
        Error.prepareStackTrace = function own() { return 'another text' }
        Error.stackTraceLimit = 1
        function outer() { library.function('call_back', { result: 'int32', parameters: ['uint64'] })(stub.address) }
        outer()
      \`
      new Worker(asScript(source), { eval: true })
    `
    const { signal, stderr } = await run(script, { REPORTS: directory })
    expect(signal).toBe('SIGSEGV')
    expect(
      stderr.match(/^tenon: SIGSEGV .* in fault\(int32\) \(process \d+, a thread of JavaScript\)$/gm),
    ).toHaveLength(1)
    expect(readReport().call!.stack[0]).toMatch(/^inner \(/)
  })

  test('is distinguished from other crashes, and from traps of WebAssembly', async () => {
    const script = `
      const memory = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 8, 1, 4, 108,
        111, 97, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 45, 0, 0, 11])
      const { load } = new WebAssembly.Instance(new WebAssembly.Module(memory)).exports
      const library = NativeLibrary.open(path)
      installCrashReporter({ directory: process.env.REPORTS })
      library.function('fault', number)(7)
      try {
        load(2 ** 31)
      } catch (error) {
        console.log(error.constructor.name, error.message)
      }
      const { makeStub } = await import('@tenon/core/internal')
      const stub = makeStub(number, () => process.abort(), { foreignThread: 'wait' }, 'the result')
      library.function('call_back', { result: 'int32', parameters: ['uint64'] })(stub.address)
    `
    const { signal, stdout, stderr } = await run(script, { REPORTS: directory })
    expect([signal, stdout]).toEqual(['SIGABRT', 'RuntimeError memory access out of bounds\n'])
    expect([reports(), stderr.includes('tenon:')]).toEqual([[], false])
  })

  test('is not reported unless that was asked for, and calls have no events then', async () => {
    const script = `
      const { isTraced } = await import('@tenon/core/internal')
      const fault = NativeLibrary.open(path).function('fault', number)
      console.log(isTraced())
      fault(1)
    `
    const plain = await run(script)
    expect([plain.signal, plain.stdout, plain.stderr]).toEqual(['SIGABRT', 'false\n', ''])
    const off = await run(script, { TENON_CRASH_REPORT: '0' })
    expect([off.signal, off.stdout, off.stderr]).toEqual(['SIGABRT', 'false\n', ''])
    // A process that dies at once has no time for a warning.
    const long = await runCrash(
      library,
      script.replace('fault(1)', ''),
      { TENON_CRASH_REPORT: `/${'a'.repeat(800)}` },
      [],
    )
    expect([long.code, long.stdout]).toEqual([0, 'false\n'])
    expect(long.stderr).toMatch(
      /TenonWarning: TENON_CRASH_REPORT has no effect: .*directory must have at most 768 bytes, and no NUL/,
    )
  })
})

test.runIf(process.platform === 'linux' && !isSanitized)(
  'the sessions of the guide are what a process and tenon report print, other than numbers',
  { timeout: 60_000 },
  async () => {
    const page = readFileSync(new URL('../../../docs/debug-crash.md', import.meta.url), 'utf8')
    const part = page.slice(page.indexOf('## In this process'), page.indexOf('## In a debugger'))
    const [, source] = /```c file=gather\.c\n([^`]*)```/.exec(page)!
    const [, program] = /```ts file=program\.js\n([^`]*)```/.exec(part)!
    const [crash, printed] = Array.from(part.matchAll(/```text\n\$ (.*)\n([^`]*)```/g), ([, , text]) => text!)
    writeFileSync(join(directory, 'gather.c'), source!)
    execFileSync('gcc', ['-g', '-O1', '-shared', '-fPIC', '-I', INCLUDE, '-o', 'libgather.so', 'gather.c'], {
      cwd: directory,
    })
    mkdirSync(join(directory, 'node_modules'))
    symlinkSync(cwd, join(directory, 'node_modules/tenon'))
    writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(directory, 'program.js'), program!)
    const env = { ...process.env, TENON_CRASH_REPORT: '1' }
    const { stderr } = spawnSync(process.execPath, ['program.js'], { cwd: directory, env, encoding: 'utf8' })
    const withoutNumbers = (text: string): string =>
      text
        .replaceAll(realpathSync(directory), '/srv/app')
        .replaceAll(/\d+-\d+-\d+T[\d:.]+Z|0x[\da-f]+|\d{3,}(?!\])/g, 'N')
        .replaceAll(/tenon [\w.-]+, node v[\w.-]+, linux-\w+/g, 'versions')
    expect(withoutNumbers(stderr)).toBe(withoutNumbers(crash!))
    expect(withoutNumbers(await report(...reports()))).toBe(withoutNumbers(printed!))
  },
)
