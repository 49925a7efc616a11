import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'

/**
 * A program that tries to end the process or to make it hang, and the lines that it prints instead: codes of errors, names of
 * errors without a code, and results.
 */
export type Attempt = readonly [code: string, outcome: string]
export type Attempts = Readonly<Record<string, Attempt>>

const [kernels, throwing, packed, packedThrowing] = ['kernels', 'kernels_cpp', 'packed', 'packed_throwing'].map(
  (name) => JSON.stringify(kernelLibrary(name)),
)

/** The names that every attempt may use, in workers as well. */
const names = `
  import { asScript } from '@tenon/config/as-script'
  import * as tenon from 'tenon'
  import * as binary from 'tenon/binary'
  import * as core from 'tenon/core'
  import * as C from 'tenon/custom-call'
  import * as P from 'tenon/packed-func'
  import * as pools from 'tenon/pools'
  import * as S from 'tenon/scope'
  import * as linker from 'tenon/scope/linker'
  import * as ts from 'tenon/tstring'
  import fs from 'node:fs'
  import { setTimeout as sleep } from 'node:timers/promises'
  import vm from 'node:vm'
  import { parentPort, Worker } from 'node:worker_threads'
  const { f32, Library, MemorySegment, NativeScope, ResourceScope, s32, s64, tensor } = tenon
  const { StringTensor } = ts
  const { packedFunc } = P
  const KERNELS = ${kernels}, PACKED = ${packed}
  const library = Library.open(KERNELS), add = library.customCall('broadcast_add'), throwing = core.NativeLibrary.open(${throwing})
  const module = P.Module.open(PACKED), throwingModule = P.Module.open(${packedThrowing})
  const type = f32([1024])
  const make = (value = 1, allocator) => tensor('f32', [1024], new Float32Array(1024).fill(value), allocator && { allocator })
  const [call, echo, sum, keep, kept] = ['call', 'echo', 'sum', 'keep', 'kept'].map((name) => module.get(name))
  const libc = linker.SymbolLookup.ofProcess()
  const link = (name, result, ...parameters) => linker.Linker.downcall(libc.get(name), { result, parameters })
  const comparison = { result: 'int32', parameters: ['pointer', 'pointer'] }
  const memset = link('memset', 'pointer', 'pointer', 'int32', 'uint64'), strlen = link('strlen', 'uint64', 'pointer')
  const qsort = linker.Linker.downcall(libc.get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
  const confined = () => ResourceScope.ofConfined(), arena = () => NativeScope.ofConfined()
  const long = 'a string that is longer than a struct holds'
`

/** How attempts print what happens, and how they provoke it. */
const tools = `
  const print = (error) => console.log(String(error?.code ?? error?.name ?? 'threw ' + typeof error))
  const show = (given) => console.log('gave ' + String(typeof given === 'object' && given ? given.constructor?.name : given).slice(0, 40))
  const attempt = (use) => { try { const given = use(); show(given); return given } catch (error) { print(error) } }
  const attemptLater = async (use) => { try { show(await use()) } catch (error) { print(error) } }
  /** Prints how many of the calls gave something, and which errors the others threw. */
  const tally = (calls) => {
    const counts = new Map()
    for (const use of calls) {
      let outcome = 'gave'
      try { use() } catch (error) { outcome = error?.code ?? error?.name ?? 'threw ' + typeof error }
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    }
    console.log([...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map((each) => each.join(' ')).join(', '))
  }
  const collect = async () => { for (let i = 0; i < 3; i++) { gc(); await sleep(1) } }
  const getter = (list, index, get) => Object.defineProperty([...list], index, { get, enumerable: true, configurable: true })
  const target = (run) => C.FunctionTarget.open('attack', '(x: ' + type + ') -> (y: ' + type + ')', run)
  const runTarget = (made, x = make(), y = make(0)) => made.handler.prepare({ operands: [x.type], results: [y.type] }).run([x], [y])
  /** A worker that runs a program with the same names. */
  const started = (source) => {
    const worker = new Worker(asScript(names + tools + source), { eval: true })
    worker.on('error', print)
    return worker
  }
  const message = (worker) => new Promise((resolve) => worker.once('message', resolve))
  const ended = (worker) => new Promise((resolve) => worker.once('exit', resolve))
  const temporary = (name) => {
    const folder = fs.mkdtempSync('/tmp/tenon-attack-')
    process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
    return folder + '/' + name
  }
  const numbers = [-1, -0, 0.5, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 64, NaN, Infinity, -Infinity, -1n, 2n ** 64n, '1', '', null, true, {}, [], Symbol.iterator, () => 1]
`

/** Whether calls of every kind still work. */
const check = `
  const works = () => {
    const y = add([make(1), make(2)], { results: [type] }).toArray()[1023]
    const text = StringTensor.from(['a', long]).to('tflite').get(1)
    const scope = NativeScope.ofConfined(), length = strlen(S.toCString(long, scope))
    scope.close()
    const all = [y, text === long, Number(length), sum(1, 2), echo(long) === long, call((x) => x, 5)].join()
    if (all !== '3,true,43,3,true,5') throw new Error('broken: ' + all)
  }
`

const prelude = `${names}${tools}${check}const names = ${JSON.stringify(names)}, tools = ${JSON.stringify(tools)};`

/** How a process with attempts ended. Errors print no text to stderr. */
export interface Outcome {
  readonly code: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly results: Readonly<Record<string, string>>
  readonly stderr: string
}

const body = (name: string, [code]: Attempt): string =>
  `console.log(${JSON.stringify(`# ${name}`)}); await (async () => {${code}\n})();`

/** Runs a script with the names. The last name in the output is that of the attempt that ended the process. */
async function run(script: string, timeout: number): Promise<Outcome> {
  const { code, signal, timedOut, stdout, stderr } = await runScript(prelude + script, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    nodeOptions: [...packageFlags, '--expose-gc', '--no-warnings'],
    timeout,
  })
  const parts = stdout.split(/^# /m).slice(1)
  const results = parts.map((part) => part.trim().split('\n')).map(([name, ...lines]) => [name, lines.join(', ')])
  return { code, signal, timedOut, results: Object.fromEntries(results) as Record<string, string>, stderr }
}

/** Runs attempts in one process, one after another. After each of them, calls of every kind must still work. */
export function runTogether(attempts: readonly (readonly [string, Attempt])[], timeout = 150_000): Promise<Outcome> {
  const runs = attempts.map(([name, attempt]) => `${body(name, attempt)} gc(); works();`)
  return run(`${runs.join('\n')}\nawait collect(); console.log('# end')`, timeout)
}

/** Runs an attempt that ends its process. */
export const runAlone = (name: string, attempt: Attempt): Promise<Outcome> => run(body(name, attempt), 60_000)
