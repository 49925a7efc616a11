/**
 * Part of the command `pnpm test:symbols`: compiles libraries with faults by every compiler that is installed (gcc, clang 14 to 19, rustc, and gcc for arm64 with qemu), at
 * each level of optimization, with DWARF 4 and 5, and stripped with a separate debug file; lets each fault end a worker; and compares the
 * functions, files and lines of the error with those of addr2line and llvm-addr2line, and with the stack that gdb reads from the core file of
 * the same process. It prints a table, and ends with 1 if a frame is wrong. Words behind the file are the compilers that it uses.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { TenonError } from '@tenon/core'
import { CONSTANTS, coreLibrary, type NativeFrame } from '@tenon/core/internal'
import { compileFaults, splitDebugFile, writeFaultSources } from '../../binary/test/debug-info/build-faults.ts'
import { compareWithAddr2line } from '../../binary/test/debug-info/compare-lines.ts'
import { findCompilers } from '../../binary/test/debug-info/compilers.ts'
import { FAULT_KINDS, FAULT_SUPPORT, type Fault } from '../../binary/test/debug-info/fault-sources.ts'
import { Library } from '../src/index.ts'
import { compileProgram, crash as crashEmulated, hasEmulator, NO_FAULTS } from './arm64-crashes.ts'
import { RUST_FAULTS } from './rust-faults.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-crashes-'))
const { c: compilers, rust: rustc, arm64, llvmAddr2line, missing } = findCompilers()

const hasDebugger =
  spawnSync('gdb', ['-nx', '-batch', '-ex', 'python print(1)'], { encoding: 'utf8' }).stdout.startsWith('1') &&
  readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim() === 'core'

/** The flags of the debug information of each level of optimization, and whether it is moved to a file of its own. */
const VARIANTS = [
  { flags: ['-g', '-O0', '-gdwarf-4'], isSplit: false },
  { flags: ['-g', '-O1', '-gdwarf-5'], isSplit: true },
  { flags: ['-g', '-O2', '-gdwarf-5'], isSplit: false },
  { flags: ['-g', '-O3', '-gdwarf-4', '-gz', '-fomit-frame-pointer'], isSplit: true },
] as const

const SIGNALS: Readonly<Record<Fault, NodeJS.Signals>> = {
  null: 'SIGSEGV',
  useAfterFree: 'SIGSEGV',
  stackOverflow: 'SIGSEGV',
  abort: 'SIGABRT',
  assert: 'SIGABRT',
  badFree: 'SIGABRT',
  division: 'SIGFPE',
  illegalInstruction: 'SIGILL',
  throw: 'SIGABRT',
  busError: 'SIGBUS',
}

/** Rust panics instead of dividing by zero, and so it does for the faults `assert` and `throw`. */
const RUST_SIGNALS: typeof SIGNALS = { ...SIGNALS, division: 'SIGABRT' }

/** A stack as gdb prints it, innermost first, from the function that the signal has interrupted on. */
interface DebuggerFrame {
  readonly library: string | null
  readonly pc: string
  readonly name: string | null
  readonly file: string | null
  readonly line: number
}

/** Prints the stacks of core files, whose paths are in \`TENON_CORES\`. Frames of tail calls have no code of their own. */
const GDB = `
import gdb, json, os
gdb.execute('set debuginfod enabled off')
gdb.execute('set confirm off')
stacks = []
for core in json.loads(os.environ['TENON_CORES']):
    gdb.execute('core-file ' + core, to_string=True)
    frames = []
    frame = gdb.newest_frame()
    while frame is not None and len(frames) < 400:
        if frame.type() == gdb.SIGTRAMP_FRAME:
            frames = []
        elif frame.type() != gdb.TAILCALL_FRAME:
            place = frame.find_sal()
            file = place.symtab.filename if place.symtab is not None else None
            library = gdb.solib_name(frame.pc())
            frames.append({'library': library, 'pc': hex(frame.pc()), 'name': frame.name(), 'file': file, 'line': place.line})
        frame = frame.older()
    stacks.append(frames)
print('TENON' + json.dumps(stacks))
`

interface Crash {
  readonly kind: Fault
  readonly signal: unknown
  readonly sentence: string
  readonly frames: readonly NativeFrame[]
  readonly coreFile: string | undefined
}

/** Lets each fault of a library end a worker. The core file of each is moved to a path of its own. */
async function crashAll(path: string, kinds: readonly Fault[]): Promise<readonly Crash[]> {
  const crashes: Crash[] = []
  await using library = await Library.isolate(path, { coreDumps: hasDebugger, restart: { limit: 10_000, backoff: 0 } })
  for (const kind of kinds) {
    const name = kind === 'throw' && !path.includes('rust') ? 'thread_throw' : `enter_${kind}`
    const call = library.function(name, { parameters: ['int32'], result: 'void' })
    const error = await call.async(5).catch((thrown: unknown) => thrown as TenonError)
    if (!(error instanceof TenonError)) throw new Error(`${name} of ${path} does not end its worker`)
    const { signal, frames, coreFile } = error.details as Partial<Crash>
    let kept: string | undefined
    if (coreFile !== undefined) renameSync(coreFile, (kept = `${path}.${kind}.core`))
    crashes.push({ kind, signal, sentence: error.sentence, frames: frames ?? [], coreFile: kept })
  }
  return crashes
}

/** The stacks of core files as gdb reads them. */
function debuggerStacks(coreFiles: readonly string[]): readonly (readonly DebuggerFrame[])[] {
  const script = join(directory, 'stacks.py')
  const program = join(dirname(coreLibrary().path), 'tenon-host')
  writeFileSync(script, GDB)
  const output = execFileSync('gdb', ['-nx', '-batch', '-x', script, program], {
    env: { ...process.env, TENON_CORES: JSON.stringify(coreFiles) },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const line = output.split('\n').find((text) => text.startsWith('TENON'))
  return JSON.parse(line!.slice('TENON'.length)) as DebuggerFrame[][]
}

/** The identifier of a function without its scope, template arguments and parameters, which gdb writes in its own way. */
function identifierOf(name: string): string {
  let text = name.replace(/\boperator\(\)/, 'operator_call')
  for (let before = ''; before !== text;) {
    before = text
    text = text.replaceAll(/<[^<>]*>|\([^()]*\)|\{[^{}]*\}|\[[^[\]]*\]/g, '')
  }
  // The hash of a name of Rust, and the marks of the parts of a function that the compiler has split.
  text = text.trim().replace(/::(?:h[0-9a-f]{16})?$|(?:\.\w+)+$/, '')
  return /([\w~]+)(?: const)?$/.exec(text)?.[1] ?? text
}

interface Sum {
  crashes: number
  frames: number
  /** Frames without a function or a line. */
  unknown: number
  /** Descriptions of differences. */
  wrong: string[]
}

/** The frames of one library, with the address of the instruction of each: where it stopped, or the call that has not returned. */
function ownFrames(path: string, frames: readonly NativeFrame[]): readonly (NativeFrame & { readonly at: number })[] {
  return frames
    .map((frame, index) => {
      const isFirst = frames.slice(0, index).every(({ pc, inlined }) => pc === frame.pc && inlined)
      return { ...frame, at: Number(frame.offset ?? 0) - (isFirst ? 0 : 1) }
    })
    .filter(({ library }) => library === path)
}

/** Compares the frames of crashes with those that addr2line and gdb print. */
function compare(path: string, debugPath: string, crashes: readonly Crash[], signals: typeof SIGNALS): Sum {
  const sum: Sum = { crashes: crashes.length, frames: 0, unknown: 0, wrong: [] }
  const cores = crashes.flatMap(({ coreFile }) => coreFile ?? [])
  const stacks = cores.length === 0 ? [] : debuggerStacks(cores)
  const addresses = new Set<number>()
  for (const { kind, signal, sentence, frames, coreFile } of crashes) {
    const fail = (text: string): void => void sum.wrong.push(`${kind}: ${text}`)
    if (signal !== signals[kind]) fail(`ended with ${String(signal)}, expected ${signals[kind]}`)
    const own = ownFrames(path, frames)
    if (own.length === 0) fail(`no frame of ${path} in ${JSON.stringify(frames)}`)
    sum.frames += own.length
    for (const { at, function: name, line } of own) {
      addresses.add(at)
      if (name === undefined || line === undefined) sum.unknown += 1
    }
    const [first] = own
    const place = first && `${basename(first.file ?? '')}${first.line === undefined ? '' : `:${first.line}`}`
    if (place !== undefined && !sentence.endsWith(` (${place})`)) fail(`"${sentence}" does not end with ${place}`)
    if (coreFile === undefined) continue
    const stack = stacks[cores.indexOf(coreFile)]!.filter(({ library }) => library === path)
    const isRight = (at: number): boolean => {
      const { same, excused } = compareWithAddr2line(path, debugPath, { second: llvmAddr2line, addresses: [at] })
      return same + excused === 1
    }
    compareStack({ frames, own, stack, isRight, fail })
  }
  sum.wrong.push(...compareWithAddr2line(path, debugPath, { second: llvmAddr2line, addresses: [...addresses] }).wrong)
  return sum
}

/**
 * The frames must be those of gdb. Of a stack that is deeper than a worker records, the outermost frames are missing. gdb differs in two cases, in
 * which `isRight` tells whether addr2line has the same function and line: it skips rows of the line table that are not marked as statements, and it
 * prints a Rust function by its name in the source, which can differ from its name in the symbol table.
 */
function compareStack(comparison: {
  readonly frames: readonly NativeFrame[]
  readonly own: ReturnType<typeof ownFrames>
  readonly stack: readonly DebuggerFrame[]
  readonly isRight: (at: number) => boolean
  readonly fail: (text: string) => void
}): void {
  const { frames, own, stack, isRight, fail } = comparison
  for (const [index, { pc, function: name, file, line, at }] of own.entries()) {
    const expected = stack[index]
    const functionOf = (text: string | null | undefined): string => (text ? identifierOf(text) : '?')
    const isAtPlace = expected !== undefined && BigInt(pc) === BigInt(expected.pc)
    const isSame =
      functionOf(name) === functionOf(expected?.name) &&
      expected?.line === line &&
      basename(expected?.file ?? '') === basename(file ?? '')
    if (isAtPlace && (isSame || isRight(at))) continue
    fail(`frame ${index} is ${pc} ${name} ${file}:${line}, gdb has ${JSON.stringify(expected)}`)
    return
  }
  const depth = frames.filter(({ inlined }) => !inlined).length
  if (own.length < stack.length && depth < CONSTANTS.TN_CRASH_FRAMES)
    fail(`the frame ${JSON.stringify(stack[own.length])} of gdb is missing`)
}

let failed = false
let total = 0

const COLUMNS = ['library', 'crashes', 'frames', 'unknown', 'wrong'] as const

const row = ([name, ...numbers]: readonly (string | number)[]): string =>
  `${String(name).padEnd(72)}${numbers.map((number) => String(number).padStart(8)).join('')}`

function report(name: string, { crashes, frames, unknown, wrong }: Sum): void {
  console.log(row([name, crashes, frames, unknown, wrong.length]))
  for (const text of wrong.slice(0, 5)) console.log(`  ${text}`)
  failed ||= wrong.length > 0
  total += crashes
}

async function runLibrary(
  name: string,
  path: string,
  isSplit: boolean,
  kinds: readonly Fault[],
  signals: typeof SIGNALS,
): Promise<void> {
  const debugPath = isSplit ? await splitDebugFile(path) : path
  const crashes = await crashAll(path, kinds)
  report(name, compare(path, debugPath, crashes, signals))
  for (const file of [path, debugPath, ...crashes.flatMap(({ coreFile }) => coreFile ?? [])])
    rmSync(file, { force: true })
}

async function runCompiler(compiler: string): Promise<void> {
  writeFileSync(join(directory, 'support.cc'), FAULT_SUPPORT)
  execFileSync('g++', ['-g', '-O1', '-fPIC', '-c', 'support.cc'], { cwd: directory })
  const sources = writeFaultSources(directory).filter((source) => source !== 'faults.c')
  for (const source of sources) {
    const isC = source.endsWith('.c')
    const program = isC ? compiler : compiler.replace('clang', 'clang++').replace('gcc', 'g++')
    for (const { flags, isSplit } of VARIANTS) {
      const path = await compileFaults(directory, source, flags, program, ['support.o', '-lstdc++', '-pthread'])
      const kinds = isC ? FAULT_KINDS.filter((kind) => kind !== 'throw') : FAULT_KINDS
      const name = `${program} ${source} ${flags.join(' ')}${isSplit ? ', stripped' : ''}`
      await runLibrary(name, path, isSplit, kinds, SIGNALS)
    }
  }
}

async function runRust(program: string): Promise<void> {
  writeFileSync(join(directory, 'faults.rs'), RUST_FAULTS)
  for (const level of ['0', '1', '2', '3']) {
    const path = join(directory, `rust-${level}.so`)
    const flags = ['-g', '-C', `opt-level=${level}`, '--crate-type=cdylib', '-o', path, 'faults.rs']
    execFileSync(program, flags, { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
    await runLibrary(`rustc -g -C opt-level=${level}`, path, false, FAULT_KINDS, RUST_SIGNALS)
  }
}

async function runEmulated(prefix: string): Promise<void> {
  writeFileSync(join(directory, 'support.cc'), FAULT_SUPPORT)
  execFileSync(`${prefix}g++`, ['-g', '-O1', '-fPIC', '-c', 'support.cc'], { cwd: directory })
  const program = compileProgram(directory, prefix)
  const signals = { ...SIGNALS, illegalInstruction: 'SIGTRAP' } as const
  for (const source of writeFaultSources(directory).filter((name) => name.endsWith('.cc'))) {
    for (const { flags, isSplit } of VARIANTS) {
      const path = await compileFaults(directory, source, flags, `${prefix}g++`, ['support.o', '-pthread'])
      const debugPath = isSplit ? await splitDebugFile(path, prefix) : path
      const kinds = FAULT_KINDS.filter((kind) => !NO_FAULTS.has(kind))
      const crashes = kinds.map((kind) => crashEmulated(program, path, kind, signals[kind]))
      const addresses = crashes.flatMap((one) => one.addresses)
      const lines = compareWithAddr2line(path, debugPath, { second: llvmAddr2line, prefix, addresses })
      const wrong = [...crashes.flatMap((one) => one.wrong), ...lines.wrong]
      const name = `${prefix}g++ ${source} ${flags.join(' ')}${isSplit ? ', stripped' : ''}`
      report(name, { crashes: crashes.length, frames: addresses.length, unknown: lines.unknown, wrong })
    }
  }
}

try {
  // Core files are written to the working directory of the worker.
  process.chdir(directory)
  for (const sentence of missing) console.log(sentence)
  if (!hasDebugger)
    console.log(
      'stacks were not compared with those of gdb, because gdb is not installed or the system writes core files elsewhere',
    )
  console.log(row(COLUMNS))
  const runs = new Map(compilers.map((compiler) => [compiler, async () => runCompiler(compiler)] as const))
  if (rustc !== undefined) runs.set('rust', async () => runRust(rustc))
  if (arm64 !== undefined && hasEmulator()) runs.set('arm64', async () => runEmulated(arm64))
  else console.log('arm64 was left out, because its gcc or qemu-user-static is not installed')
  for (const compiler of process.argv.length > 2 ? process.argv.slice(2) : runs.keys()) {
    const run = runs.get(compiler)
    if (run === undefined) throw new Error(`the compilers are ${[...runs.keys()].join(', ')}, got ${compiler}`)
    await run()
  }
  console.log(`${total} crashes`)
} finally {
  process.chdir(tmpdir())
  rmSync(directory, { recursive: true })
}
process.exitCode = failed ? 1 : 0
