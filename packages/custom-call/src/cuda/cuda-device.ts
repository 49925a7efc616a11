import type { Segment, Tensor } from '@tenon/core'
import { addressOf, ManagedLifetime } from '@tenon/core/internal'
import type { Cuda } from './cuda.ts'
import { isSticky, type CudaError } from './cuda-error.ts'
import { CudaEvent } from './cuda-event.ts'
import { CudaModule } from './cuda-module.ts'
import { CudaStream } from './cuda-stream.ts'
import { DeviceMemory } from './device-memory.ts'
import { PinnedMemory } from './pinned-memory.ts'
import type { DriverFunctions } from './driver-functions.ts'

const COMPUTE_CAPABILITY_MAJOR = 75
const COMPUTE_CAPABILITY_MINOR = 76

/** Of this thread. At its end copies may still be on their way to its memory: they are waited for. */
const open = new Set<CudaDevice>()
let waitsAtExit = false

function waitAtExit(): void {
  for (const device of open) device.settle()
}

/**
 * One GPU, and its primary context, which is current on this thread whenever something is done here. It can't be closed
 * before its streams, memory, events, modules and pinned ranges. Made by {@link Cuda.openDevice}.
 *
 * @example
 * using device = Cuda.open().openDevice(0)
 * device.memoryInfo.total // in bytes
 */
export class CudaDevice extends ManagedLifetime {
  readonly cuda: Cuda
  readonly ordinal: number
  readonly name: string
  /** `9.0` for Hopper. */
  readonly computeCapability: string
  /** @internal the CUcontext */
  readonly context: number
  /** @internal ranges of the Host that copies must keep pinned */
  readonly pinned: Set<PinnedMemory>
  /** @internal */
  readonly streams: Set<CudaStream>
  /** Why nothing works on the device any more; undefined as long as it does. */
  failure: CudaError | undefined
  readonly #device: number

  /** @internal */
  constructor(cuda: Cuda, ordinal: number) {
    super()
    const { deviceGet, deviceGetAttribute, primaryCtxRetain } = cuda.functions
    this.cuda = cuda
    this.ordinal = ordinal
    this.pinned = new Set()
    this.streams = new Set()
    this.failure = undefined
    this.#device = cuda.readInt((out) => deviceGet(out, ordinal), `opening device ${ordinal}`)
    const attribute = (id: number): number =>
      cuda.readInt((out) => deviceGetAttribute(out, id, this.#device), `describing device ${ordinal}`)
    this.computeCapability = `${attribute(COMPUTE_CAPABILITY_MAJOR)}.${attribute(COMPUTE_CAPABILITY_MINOR)}`
    this.name = this.#readName()
    this.context = cuda.readHandle(
      (out) => primaryCtxRetain(out, this.#device),
      `retaining the context of device ${ordinal}`,
    )
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
    return this.cuda.functions
  }

  #readName(): string {
    const name = Buffer.alloc(256)
    this.cuda.check(this.functions.deviceGetName(addressOf(name), name.length, this.#device), 'asking for a name')
    return name.toString('utf8', 0, name.indexOf(0))
  }

  /** How much memory the device has, and how much of it nobody uses, in bytes. @throws {CudaError} if the driver fails. */
  get memoryInfo(): { readonly free: number; readonly total: number } {
    this.enter()
    const out = new BigUint64Array(2)
    const at = addressOf(out)
    this.check(this.functions.memGetInfo(at, at + 8), 'asking for the memory')
    return { free: Number(out[0]), total: Number(out[1]) }
  }

  /**
   * Memory of the device, its contents undefined, aligned to 256 bytes.
   *
   * @param byteSize at least 1.
   * @throws {CudaOutOfMemoryError} if the device has not enough. @throws {ArgumentRangeError} for 0 bytes.
   */
  allocate(byteSize: number): DeviceMemory {
    return new DeviceMemory(this, byteSize)
  }

  /** A queue of work, independent of other queues. @throws {CudaError} if the driver fails. */
  openStream(): CudaStream {
    return new CudaStream(this)
  }

  /** A mark in a stream. @throws {CudaError} if the driver fails. */
  openEvent(): CudaEvent {
    return new CudaEvent(this)
  }

  /**
   * Kernels of compiled code: PTX as text, or a cubin or fatbin as bytes. The driver compiles PTX for the device.
   *
   * @throws {CudaError} if the driver does not take it.
   */
  loadModule(image: string | Uint8Array): CudaModule {
    return new CudaModule(this, image)
  }

  /**
   * Locks memory of the Host in place, so that copies run at full speed and beside other work, until it is closed. Without it
   * copies are as safe, and slower.
   *
   * @throws {CudaError} if it is pinned already, or the system refuses. @throws {ArgumentError} if it is the device's own.
   */
  pin(memory: Segment | Tensor): PinnedMemory {
    return new PinnedMemory(this, memory)
  }

  /** @internal makes the context current on this thread. @throws {CudaError} if the device is lost. */
  enter(): void {
    this.checkAlive()
    if (this.failure !== undefined) throw this.failure
    this.check(this.functions.ctxSetCurrent(this.context), `entering the context of ${this.label}`)
  }

  /** @internal waits for the work of all streams, whatever comes of it */
  settle(): void {
    for (const stream of this.streams) stream.settle()
  }

  /** @internal @throws {CudaError} unless a result is 0 */
  check(result: unknown, action: string): void {
    if (Number(result) !== 0) throw this.error(Number(result), action)
  }

  /** @internal the error of a result; a sticky one is remembered */
  error(result: number, action: string): CudaError {
    const error = this.cuda.error(result, action)
    if (isSticky(result)) this.failure ??= error
    return error
  }

  /** @internal {@link check} for what frees: with a lost device, everything on it is gone anyway. */
  free(result: unknown, action: string): void {
    if (this.failure === undefined) this.check(result, action)
  }

  /** @internal makes the context current to free something; a lost device can't be entered */
  leave(): void {
    if (this.failure === undefined) this.functions.ctxSetCurrent(this.context)
  }
}
