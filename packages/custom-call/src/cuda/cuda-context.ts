import { type Gated, ManagedLifetime } from '@tenon/core/internal'
import type { CudaDriver } from './cuda-driver.ts'
import { isSticky, NOT_READY, type CudaError } from './cuda-error.ts'
import type { DriverFunctionName, DriverFunctions } from './driver-functions.ts'

export interface PinnedRange extends Gated {
  readonly address: number
  readonly end: number
}

export interface PendingWork {
  /** Waits for the work and blocks this thread; never throws. */
  settle(): void
  /** Resolves when the work that is enqueued now has completed or failed. */
  settled(): Promise<void>
}

/** The devices of this thread. Copies may still write to its memory when it ends, so they are waited for. */
const open = new Set<CudaContext>()
let waitsAtExit = false

function waitAtExit(): void {
  for (const context of open) context.settle()
}

/**
 * The primary context of a device, which is current on this thread whenever something is done on the device. Everything
 * that is opened on a {@link CudaDevice} keeps it open.
 */
export abstract class CudaContext extends ManagedLifetime {
  readonly ordinal: number
  /** The error that made the device unusable, or undefined while it works. */
  failure: CudaError | undefined
  /** @internal */
  readonly driver: CudaDriver
  /** @internal the CUcontext */
  readonly context: number
  /** @internal */
  readonly pinned: Set<PinnedRange>
  /** @internal */
  readonly streams: Set<PendingWork>
  readonly #device: number

  /** @internal `device` is the CUdevice. */
  constructor(driver: CudaDriver, ordinal: number, device: number) {
    super()
    this.driver = driver
    this.ordinal = ordinal
    this.pinned = new Set()
    this.streams = new Set()
    this.failure = undefined
    this.#device = device
    this.context = driver.read('primaryCtxRetain', `retaining the context of device ${ordinal}`, device)
    open.add(this)
    if (!waitsAtExit) process.once('exit', waitAtExit)
    waitsAtExit = true
  }

  protected override get label(): string {
    return `CUDA device ${this.ordinal}`
  }

  protected override release(): void {
    open.delete(this)
    this.free(this.functions.primaryCtxRelease(this.#device), `releasing the context of ${this.label}`)
  }

  /** @internal */
  get functions(): DriverFunctions {
    return this.driver.functions
  }

  /** @internal Makes the context current on this thread. @throws {CudaError} if the device is lost. */
  enter(): void {
    if (this.failure !== undefined) throw this.failure
    this.run('ctxSetCurrent', `entering the context of ${this.label}`, this.context)
  }

  /** @internal Makes the context current to free something. A lost device cannot be entered. */
  enterToFree(): void {
    if (this.failure === undefined) this.functions.ctxSetCurrent(this.context)
  }

  /** @internal Waits for the work of all streams and blocks this thread; never throws. */
  settle(): void {
    for (const stream of this.streams) stream.settle()
  }

  /** @internal Resolves when the work that is in the streams now has completed or failed. */
  async settled(): Promise<void> {
    await Promise.all([...this.streams].map((stream) => stream.settled()))
  }

  /** @internal @throws {CudaError} unless a result is 0. */
  check(result: unknown, action: string): void {
    if (Number(result) !== 0) throw this.error(Number(result), action)
  }

  /** @internal Calls a function of the driver. @throws {CudaError} if it fails. */
  run(name: DriverFunctionName, action: string, ...parameters: readonly number[]): void {
    this.check(this.functions[name](...parameters), action)
  }

  /** @internal Asks whether a stream or event is done. @throws {CudaError} if its work failed. */
  isDone(query: 'streamQuery' | 'eventQuery', address: number, action: string): boolean {
    const result = Number(this.functions[query](address))
    if (result === NOT_READY) return false
    this.check(result, action)
    return true
  }

  /** @internal Returns the error of a result, and remembers one that makes the device unusable. */
  error(result: number, action: string): CudaError {
    const error = this.driver.error(result, action)
    if (isSticky(result)) this.failure ??= error
    return error
  }

  /** @internal Checks a result of freeing something. A lost device has lost everything on it, so it is not an error. */
  free(result: unknown, action: string): void {
    if (this.failure === undefined) this.check(result, action)
  }
}
