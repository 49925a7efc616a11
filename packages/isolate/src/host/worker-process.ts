import {
  addressOf,
  checkStatus,
  type CodeModule,
  type CoreFunctions,
  coreFunctions,
  LAYOUTS,
  readModules,
  STATUS,
  statusName,
} from '@tenon/core/internal'
import { CommandMemory } from './command-memory.ts'

const { offsets: INFO, size: INFO_SIZE } = LAYOUTS.tn_host_info_t

/** The results of core functions. They are read before any other call. */
const out = new Int32Array(2)

/** How a process ended. */
export interface ProcessEnd {
  readonly kind: 'exit' | 'signal'
  /** The exit code, or the number of the signal. */
  readonly value: number
}

const { OK, TIMED_OUT, CLOSED } = STATUS

/** The most files that are known of one worker. */
const MOST_MODULES = 2048

/** Why a wait is over. */
export type WaitResult = 'changed' | 'ended' | 'timed out'

function resultOf(status: number): WaitResult {
  if (status === OK.value) return 'changed'
  return status === CLOSED.value ? 'ended' : checkTimedOut(status)
}

function checkTimedOut(status: number): 'timed out' {
  if (status !== TIMED_OUT.value) checkStatus(status, 'waiting for a worker')
  return 'timed out'
}

/** The process of a worker, its descriptors, and the memory that this process shares with it. It is closed exactly once. */
export class WorkerProcess {
  /** The number of the process. */
  readonly process: number
  readonly memory: CommandMemory
  /** The pidfd, which is readable once the process has ended. */
  readonly pidfd: number
  /** The eventfd that the worker writes to when an answer is awaited. */
  readonly eventfd: number
  /** The reading ends of stdout and stderr, or -1. */
  readonly output: readonly [number, number]
  /**
   * The files whose code the worker has, by their place. A kernel can write to the list of the worker, so this one has what the list had when a
   * library was loaded, which the code of the library cannot have changed.
   */
  readonly modules: Map<string, CodeModule> = new Map()
  /** The address for the core. */
  readonly address: number
  readonly #core: CoreFunctions = coreFunctions()

  /** @param address the address of a worker, which is closed with this object. @throws {NativeError} and closes it */
  constructor(address: number) {
    this.address = address
    try {
      const info = new DataView(new ArrayBuffer(INFO_SIZE))
      checkStatus(this.#core.tn_host_describe(this.address, addressOf(info)), 'describing a worker')
      this.process = Number(info.getBigInt64(INFO.process, true))
      this.pidfd = info.getInt32(INFO.lifeline, true)
      this.eventfd = info.getInt32(INFO.doorbell, true)
      this.output = [info.getInt32(INFO.output, true), info.getInt32(INFO.output + 4, true)]
      this.memory = new CommandMemory(Number(info.getBigUint64(INFO.command, true)))
    } catch (error) {
      this.#core.tn_host_close(this.address)
      throw error
    }
  }

  /** Sends a descriptor, which the caller still owns. @returns the reason of a failure, or undefined */
  sendMemory(id: number, descriptor: number): string | undefined {
    const status = this.#core.tn_host_send_memory(this.address, id, descriptor)
    return status === OK.value ? undefined : `a descriptor could not be sent (${statusName(status)})`
  }

  /** Adds what the worker has listed. Called after each request that loads libraries. */
  noteModules(): void {
    for (const module of readModules(this.memory.copyModules())) {
      const place = `${module.path} ${module.start}`
      if (!this.modules.has(place) && this.modules.size < MOST_MODULES) this.modules.set(place, module)
    }
  }

  /** Announces the slots that were written. @param rings whether the worker writes to the eventfd after its next response */
  post(rings: boolean): void {
    this.#core.tn_host_post(this.address, rings ? 1 : 0)
  }

  /** Announces the slots that were written, and waits until one has an answer or calls a function, at most `timeout` ms. */
  exchange(slot: number, timeout: number): WaitResult {
    return resultOf(this.#core.tn_host_exchange(this.address, slot, nanoseconds(timeout)))
  }

  /** As {@link exchange}, when nothing is to be announced. */
  wait(slot: number, timeout: number): WaitResult {
    return resultOf(this.#core.tn_host_wait(this.address, slot, nanoseconds(timeout)))
  }

  cancel(id: number): void {
    this.#core.tn_host_cancel(this.address, id)
  }

  kill(): void {
    this.#core.tn_host_kill(this.address)
  }

  /** Reads the eventfd empty. */
  drain(): void {
    this.#core.tn_host_drain(this.address)
  }

  /** Returns how the process ended, or undefined if it still runs after `timeout` ms. */
  reap(timeout: number): ProcessEnd | undefined {
    const at = addressOf(out)
    const status = this.#core.tn_host_reap(this.address, nanoseconds(timeout), at, at + 4)
    return status === OK.value ? { kind: out[0] === 2 ? 'signal' : 'exit', value: out[1]! } : undefined
  }

  /** Kills the process if it runs, and frees all that it had. */
  close(): void {
    this.memory.close()
    this.#core.tn_host_close(this.address)
  }
}

/** The longest time that core functions get, in ms: a year. Waits are repeated. */
const LONGEST = 31_536_000_000

function nanoseconds(milliseconds: number): number {
  return Math.ceil(Math.min(Math.max(milliseconds, 0), LONGEST) * 1e6)
}

/**
 * Waits until one of several workers has changed a slot since its number of responses was `seen`, or has ended. At most `timeout` ms.
 * Without workers it waits for that time.
 */
export function waitForAny(processes: readonly WorkerProcess[], seen: readonly number[], timeout: number): void {
  const hosts = BigUint64Array.from(processes, ({ address }) => BigInt(address))
  const counts = Uint32Array.from(seen)
  if (processes.length === 0) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.min(timeout, LONGEST))
    return
  }
  coreFunctions().tn_host_wait_any(addressOf(hosts), addressOf(counts), processes.length, nanoseconds(timeout))
}
