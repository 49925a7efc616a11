import { reportCrashesOfThread } from '../../crash/crash-reporter.ts'
import { LoadError } from '../../errors/kinds.ts'
import { CONSTANTS } from '../../generated/layouts.ts'
import { checkStatus, coreFunctions, coreLibrary } from '../core-library.ts'
import type { KoffiDriver } from '../driver/driver-base.ts'
import type { ModuleDriver, NodeModule } from '../driver/node-module.ts'
import { isMainThread } from '../main-thread.ts'
import { prepareStubNames } from '../../tracing/stub-names.ts'
import { addressOf } from '../native-memory.ts'
import { pollReadable } from '../poll-readable.ts'
import { exitWait } from './exit-wait.ts'
import { frame } from './frame.ts'
import { dispatch, setServeLater } from './functions.ts'
import { type Abi, hostAbi } from './host-abi.ts'
import { pendingJobs } from './pending-jobs.ts'
import { shared } from './shared.ts'

/** The functions that call a native function. They return the text that it leaves, or undefined if it leaves none. */
export interface TextEntries {
  enter(): string | undefined
  /**
   * Writes a string to memory first: in UTF-8, with a terminator, to the address in the second general register of the frame, with the
   * capacity in the third. If the string has U+0000 or is too long, nothing is called, and the state is `TN_CALL_NOT_MADE`.
   */
  enterWithText(text: string): string | undefined
}

/** The way between this thread's JavaScript and native code. */
export interface ThreadDriver {
  readonly kind: 'node-api' | 'koffi'
  /** Why the kind is not `node-api`. */
  readonly reason?: string
  readonly abi: Abi
  /** Performs the call that the frame describes. */
  readonly enter: () => void
  /** Performs a call with texts. See `enterWithTexts` of the module. Without Node-API there is no such function. */
  readonly enterWithTexts?: NodeModule['enterWithTexts']
  /**
   * Returns a function that calls a native function, which finds its arguments in the frame. Its result is left in the frame.
   *
   * @param index a place in a small table. Each place always has the same function.
   */
  entry(index: number, address: number): () => void
  /** As {@link entry}, for a native function that takes and returns texts. Without Node-API there is no such function. */
  textEntries?(index: number, address: number): TextEntries
  /** Sets whether the event loop keeps running until other threads have been served. */
  keepAlive(wanted: boolean): void
}

let opened: ThreadDriver | undefined

/**
 * Returns the driver of this thread, which opens at first use.
 *
 * @throws {LoadError} if the core does not load, the processor is not supported, or an environment variable is not valid.
 */
export function threadDriver(): ThreadDriver {
  return (opened ??= shared('driver', open))
}

export const isThreadDriverOpen = (): boolean => opened !== undefined

/** Checks the variable that the core reads. @throws {LoadError} if its value is not valid. */
function checkStack(): void {
  const text = process.env['TENON_STACK']
  if (text === undefined || text === '' || text === 'thread') return
  throw new LoadError(`TENON_STACK must be "thread", got ${JSON.stringify(text)}`, {
    hint: 'Remove the variable to run native code on a stack of its own.',
    details: { variable: 'TENON_STACK', value: text },
  })
}

function open(): ThreadDriver {
  checkStack()
  const { driver } = coreLibrary()
  const abi = hostAbi()
  const wait = exitWait()
  prepareStubNames()
  const made = driver.kind === 'koffi' ? openPlain(abi, driver) : openModule(abi, driver)
  reportCrashesOfThread()
  const end = isMainThread()
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

function openModule(abi: Abi, { kind, module }: ModuleDriver): ThreadDriver {
  module.open(frame, dispatch, CONSTANTS.TN_ABI_VERSION)
  const { enter, enterWithTexts, entry, serve, keepAlive } = module
  setServeLater(() => void setImmediate(serve))
  return {
    kind,
    abi,
    enter,
    enterWithTexts,
    entry: (index, address) => entry(index, BigInt(address), false, false),
    textEntries: (index, address) => ({
      enter: entry(index, BigInt(address), false, true),
      enterWithText: entry(index, BigInt(address), true, true),
    }),
    keepAlive,
  }
}

/** koffi enters native code, and runs one function of TypeScript. */
function openPlain(abi: Abi, { kind, reason, registerCallback }: KoffiDriver): ThreadDriver {
  const core = coreFunctions()
  const enterTypeScript = registerCallback(() => {
    dispatch()
    return 1
  })
  const out = new Int32Array(1)
  const status = core.tn_environment_open_plain(addressOf(frame), enterTypeScript, addressOf(out))
  checkStatus(status, 'opening the driver of this thread')
  const descriptor = out[0]!
  const watch = pollReadable(descriptor, () => core.tn_environment_serve_plain(descriptor))
  const { tn_driver_enter: enter, tn_driver_run: run } = core
  return {
    kind,
    reason,
    abi,
    enter,
    entry: (_, address) => () => run(address),
    keepAlive: (wanted) => (wanted ? watch.ref() : watch.unref()),
  }
}
