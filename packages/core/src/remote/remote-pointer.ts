import { inspectAsText } from '../errors/inspect.ts'

/** A process that runs calls: its place among the processes of a library, from 0, and the number of its process. */
export interface RemoteWorker {
  readonly index: number
  readonly process: number
}

let addressOf: (pointer: RemotePointer) => bigint

/**
 * A pointer that a function in another process has returned. It cannot be read here: functions of the same library take it, and run in the
 * process that returned it. Once that process has ended, they throw `WorkerLostError`.
 */
export class RemotePointer {
  /** The process whose memory it points to. */
  readonly worker: RemoteWorker
  readonly #address: bigint

  /** @internal */
  constructor(worker: RemoteWorker, address: bigint) {
    this.worker = worker
    this.#address = address
  }

  static {
    inspectAsText(this)
    addressOf = (pointer) => pointer.#address
  }

  /** @internal Whether a value is a remote pointer, and not a Proxy of one. */
  static isGenuine(value: unknown): value is RemotePointer {
    return typeof value === 'object' && value !== null && #address in value
  }

  /** Whether both point to the same place of the same process. */
  equals(other: RemotePointer): boolean {
    return (
      RemotePointer.isGenuine(other) && other.#address === this.#address && other.worker.process === this.worker.process
    )
  }

  toString(): string {
    return `RemotePointer to 0x${this.#address.toString(16)} of process ${this.worker.process}`
  }
}

/** The address in the other process. */
export const remoteAddress = (pointer: RemotePointer): bigint => addressOf(pointer)
