import { createRequire } from 'node:module'
import { UnsupportedError } from '@tenon/core'
import {
  addressOf,
  bundledCore,
  checkStatus,
  CONSTANTS,
  coreFunctions,
  threadDriver,
  fileBesideCore,
  keepAlive,
  LAYOUTS,
  runtime,
  STATUS,
} from '@tenon/core/internal'
import type { Settings } from './settings.ts'

const { offsets: START, size: START_SIZE } = LAYOUTS.tn_host_start_t

/** The program of a worker in Node.js needs this much beside the memory of its kernels, in MiB. */
const LEAST_HEAP = 16

/** The longest grace that the header of command memory holds, in ns: 292 years. */
const LONGEST_GRACE = 2 ** 63

/** Starts the process of a worker. @returns its address, which `tn_host_close()` frees. @throws {NativeError | UnsupportedError} */
export function startProcess(settings: Settings): number {
  checkPermission()
  const { program, args } = commandOf(settings)
  const kept: Uint8Array[] = []
  const pointer = (memory: Uint8Array): bigint => {
    kept.push(memory)
    return BigInt(addressOf(memory))
  }
  const text = (value: string): bigint => pointer(Buffer.from(`${value}\0`))
  const list = (values: readonly string[]): bigint => {
    const pointers = new BigUint64Array(values.length + 1)
    values.forEach((value, index) => {
      pointers[index] = text(value)
    })
    return pointer(new Uint8Array(pointers.buffer))
  }
  const start = new DataView(new ArrayBuffer(START_SIZE))
  start.setBigUint64(START.struct_size, BigInt(START_SIZE), true)
  start.setBigUint64(START.program, text(program), true)
  start.setBigUint64(START.arguments, list([program, ...args]), true)
  start.setBigUint64(START.environment, list(settings.environment), true)
  start.setBigUint64(START.memory_limit, BigInt(settings.host === 'native' ? settings.memory : 0), true)
  start.setBigUint64(START.grace, BigInt(Math.round(Math.min(settings.grace * 1e6, LONGEST_GRACE))), true)
  start.setUint32(START.flags, flagsOf(settings), true)
  start.setUint32(START.ignores_output, settings.output === 'ignore' ? 1 : 0, true)
  // The end of a thread closes the workers that it has started, if the core knows the thread.
  threadDriver()
  const out = new BigUint64Array(1)
  const status = coreFunctions().tn_host_start(addressOf(start), addressOf(out))
  keepAlive(start)
  for (const memory of kept) keepAlive(memory)
  if (status === STATUS.UNSUPPORTED.value && process.platform !== 'linux') throw unsupported()
  checkStatus(status, `starting the worker ${program}`)
  return Number(out[0])
}

/** Node.js does not see processes that native code starts. @throws {UnsupportedError} under `--permission`, as `spawn()` does */
function checkPermission(): void {
  // With another flag, all processes are allowed.
  const { permission } = process as { readonly permission?: { has(scope: string): boolean } }
  if (permission === undefined || permission.has('child')) return
  throw new UnsupportedError('workers must not be started, because Node.js has --permission without processes', {
    hint: 'Start Node.js with --allow-child-process.',
    details: { code: 'ERR_ACCESS_DENIED', permission: 'ChildProcess' },
  })
}

function unsupported(): UnsupportedError {
  return new UnsupportedError(`kernels cannot run in processes of their own on ${process.platform}`, {
    hint: 'Use worker_threads, which do not survive a crash of a kernel.',
  })
}

function bundled(): UnsupportedError {
  return new UnsupportedError('functions of TypeScript cannot run in workers of a program with its libraries inside', {
    hint: `Isolate a native library, which works there, or make the bundle with libraries: 'beside'.`,
  })
}

function flagsOf({ guard, sandbox, coreDumps, output }: Settings): number {
  return (
    (guard ? CONSTANTS.TN_HOST_GUARD : 0) |
    (sandbox === 'default' ? CONSTANTS.TN_HOST_SANDBOX : 0) |
    (coreDumps ? CONSTANTS.TN_HOST_CORE_DUMPS : 0) |
    (output === 'capture' ? CONSTANTS.TN_HOST_CAPTURE : 0)
  )
}

/** The path of the program of workers. */
export const programOf = (settings: Settings): string => commandOf(settings).program

function commandOf({ host, memory }: Settings): { program: string; args: readonly string[] } {
  if (host === 'native') return { program: fileBesideCore('tenon-host'), args: [] }
  if (bundledCore !== undefined) throw bundled()
  const script = createRequire(import.meta.url).resolve('@tenon/isolate/worker-process')
  const heap = Math.max(Math.floor(memory / 2 ** 20), LEAST_HEAP)
  const flags = memory === 0 ? [] : [`--max-old-space-size=${heap}`]
  return { program: process.execPath, args: runtime.fileArguments(flags, script) }
}
