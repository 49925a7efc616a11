import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { LoadError } from '../../errors/kinds.ts'
import { CONSTANTS } from '../../generated/layouts.ts'
import { checkStatus, coreFunctions, coreLibrary } from '../core-library.ts'
import { addressOf, registerCallback, viewMemory } from '../driver.ts'
import { pollReadable } from '../poll-readable.ts'
import { exitWait } from './exit-wait.ts'
import { frame } from './frame.ts'
import { dispatch, setServeLater } from './functions.ts'
import { type Abi, hostAbi } from './host-abi.ts'
import { pendingJobs } from './pending-jobs.ts'
import { shared } from './shared.ts'

/** The way between this thread's JavaScript and native code. */
export interface Door {
  readonly kind: 'node-api' | 'koffi'
  /** Why the kind is not `node-api`. */
  readonly reason?: string
  readonly abi: Abi
  /** Performs the call that the frame describes. */
  readonly enter: () => void
  /**
   * Returns a function that calls a native function without parameters, and leaves its result in the frame.
   *
   * @param index a place in a small table. Each place always has the same function.
   */
  entry(index: number, address: number): () => void
  /**
   * Returns a function that writes a string to memory before it calls the native function: in UTF-8, with a terminator, to the
   * address in the second general register of the frame, with the capacity in the third. If the string has U+0000 or is too long,
   * nothing is called, and the state is `TN_CALL_NOT_MADE`. Without Node-API there is no such function.
   */
  textEntry?(index: number, address: number): (text: string) => void
  /** Returns an ArrayBuffer over native memory. See `bufferOver`. */
  bufferOver(address: number, byteSize: number): ArrayBuffer
  /** Sets whether the event loop keeps running until other threads have been served. */
  keepAlive(wanted: boolean): void
}

/** The module that Node.js loads. It is written in `csrc/call/tenon_node.c`. */
interface DoorModule {
  open(frame: ArrayBuffer, dispatch: () => void, abiVersion: number): void
  enter(): void
  entry(index: number, address: bigint, takesText: boolean): (text?: string) => void
  buffer(address: number, byteSize: number): ArrayBuffer
  serve(): void
  keepAlive(wanted: boolean): void
}

let opened: Door | undefined

/**
 * Returns the door of this thread, which opens at first use.
 *
 * @throws {LoadError} if the processor is not supported, `TENON_DOOR` is not valid, or the door that it names does not load.
 */
export function door(): Door {
  return (opened ??= shared('door', open))
}

export const isDoorOpen = (): boolean => opened !== undefined

function open(): Door {
  const wanted = process.env['TENON_DOOR'] ?? ''
  if (!['', 'node-api', 'koffi'].includes(wanted)) {
    throw new LoadError(`TENON_DOOR must be "node-api" or "koffi", got ${JSON.stringify(wanted)}`, {
      hint: 'Remove the variable to use Node-API where it works.',
      details: { variable: 'TENON_DOOR', value: wanted },
    })
  }
  const abi = hostAbi()
  const wait = exitWait()
  const made = wanted === 'koffi' ? openPlain(abi, 'TENON_DOOR is koffi') : openModule(abi, wanted === 'node-api')
  const end = isMainThread
    ? (code: number) => coreFunctions().tn_process_exit(code, wait)
    : // Node-API tells the module when a worker ends.
      made.kind === 'koffi' && (() => coreFunctions().tn_environment_shut())
  if (end !== false) {
    process.once('exit', (code) => {
      // Native code frees the jobs, which other listeners may try to cancel.
      pendingJobs.clear()
      end(code)
    })
  }
  return made
}

function openModule(abi: Abi, isRequired: boolean): Door {
  const path = join(dirname(coreLibrary().path), 'tenon.node')
  const module = { exports: {} as DoorModule }
  try {
    process.dlopen(module, path)
    module.exports.open(frame, dispatch, CONSTANTS.TN_ABI_VERSION)
  } catch (cause) {
    const reason = (cause as Error).message
    if (!isRequired) return openPlain(abi, reason)
    throw new LoadError(`the Node-API module ${path} could not be loaded: ${reason}`, {
      hint: 'Install @tenon/core and its platform package in the same version, or remove TENON_DOOR.',
      details: { path },
      cause,
    })
  }
  const { enter, entry, buffer, serve, keepAlive } = module.exports
  setServeLater(() => void setImmediate(serve))
  return {
    kind: 'node-api',
    abi,
    enter,
    entry: (index, address) => entry(index, BigInt(address), false),
    textEntry: (index, address) => entry(index, BigInt(address), true),
    bufferOver: buffer,
    keepAlive,
  }
}

/** koffi enters native code, and runs one function of TypeScript. */
function openPlain(abi: Abi, reason: string): Door {
  const core = coreFunctions()
  const enterTypeScript = registerCallback(() => {
    dispatch()
    return 1
  })
  const descriptor = new Int32Array(1)
  const status = core.tn_environment_open_plain(addressOf(frame), enterTypeScript, addressOf(descriptor))
  checkStatus(status, 'opening the door to native code')
  const watch = pollReadable(descriptor[0]!, () => core.tn_environment_serve_plain(descriptor[0]!))
  const { tn_door_enter: enter, tn_door_run: run } = core
  return {
    kind: 'koffi',
    reason,
    abi,
    enter: () => void enter(),
    entry: (_, address) => () => void run(address),
    bufferOver: viewMemory,
    keepAlive: (wanted) => (wanted ? watch.ref() : watch.unref()),
  }
}
