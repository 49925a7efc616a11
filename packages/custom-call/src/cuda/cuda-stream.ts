import { ArgumentError, BoundsError, ReadOnlyError, Segment, Tensor } from '@tenon/core'
import {
  addressOf,
  checkStatus,
  checkEnterable,
  coreFunction,
  describe,
  pointerBits,
  READ_ONLY,
  type CFunction,
  type Gated,
} from '@tenon/core/internal'
import { checkIs } from './check-is.ts'
import type { CudaDevice } from './cuda-device.ts'
import type { CudaError } from './cuda-error.ts'
import { CudaEvent } from './cuda-event.ts'
import { CudaModule, type CudaKernel } from './cuda-module.ts'
import { isOnDevice } from './device-memory.ts'
import { DeviceResource } from './device-resource.ts'
import { driverAddress, type DriverFunctionName } from './driver-functions.ts'
import { encodeParameters, sizesOf, type KernelParameter, type LaunchOptions } from './launch.ts'
import { StreamWork } from './stream-work.ts'
import type { DeviceStream } from '../targets/call-resources.ts'

/** Runs beside the default stream. */
const NON_BLOCKING = 1
const NOT_READY = 600

/** `tn_cuda_stream_t`: its size, and where its members lie. */
const RECORD = { size: 144, memory: 40, stream: 72, context: 80, functions: 88 }
/** The functions of the driver that it has, in order. */
const RECORD_FUNCTIONS = [
  'ctxSetCurrent',
  'memAllocAsync',
  'memFreeAsync',
  'streamBeginCapture',
  'streamEndCapture',
  'streamSynchronize',
] as const satisfies readonly DriverFunctionName[]

let recordFunctions: { readonly open: CFunction; readonly close: CFunction } | undefined

/**
 * A queue of work on a device: calls, copies and kernels run one after another, and JavaScript goes on meanwhile. What they use
 * can't be closed before they are done. Closing the stream waits for its work. Made by {@link CudaDevice.openStream}.
 *
 * @example
 * using stream = device.openStream()
 * stream.copy(tensor('f32', [4], [1, 2, 3, 4]), dx)
 * const host = tensor('f32', [1024])
 * stream.copy(dx, host)
 * await stream.finished()
 */
export class CudaStream extends DeviceResource implements DeviceStream {
  /** @internal the CUstream */
  readonly address: number
  /** @internal */
  readonly record: DataView
  readonly #work: StreamWork

  /** @internal */
  constructor(device: CudaDevice) {
    super(device)
    const { streamCreate } = device.functions
    this.address = this.open(() =>
      device.cuda.readHandle((out) => streamCreate(out, NON_BLOCKING), 'creating a stream'),
    )
    device.streams.add(this)
    this.record = this.#layOutRecord()
    this.#work = new StreamWork({
      callBack: (functionAddress, argument) => this.#callBack(functionAddress, argument),
      findFailure: () => this.#query(),
      wait: () => this.#wait(),
    })
  }

  #layOutRecord(): DataView {
    const view = new DataView(new ArrayBuffer(RECORD.size))
    const pointer = (at: number, value: number): void => view.setFloat64(at, pointerBits(value), true)
    pointer(RECORD.stream, this.address)
    pointer(RECORD.context, this.device.context)
    RECORD_FUNCTIONS.forEach((name, i) =>
      pointer(RECORD.functions + 8 * i, driverAddress(this.device.cuda.library, name)),
    )
    recordFunctions ??= {
      open: coreFunction('tn_cuda_stream_open', 'int32_t', ['uintptr_t']),
      close: coreFunction('tn_cuda_stream_close', 'void', ['uintptr_t']),
    }
    checkStatus(Number(recordFunctions.open(addressOf(view))), 'opening a stream')
    return view
  }

  protected override get label(): string {
    return 'the CUDA stream'
  }

  protected override destroy(): unknown {
    this.device.streams.delete(this)
    recordFunctions!.close(addressOf(this.record))
    return this.device.functions.streamDestroy(this.address)
  }

  /** The CUstream, as kernels know it. */
  get handle(): bigint {
    return BigInt(this.address)
  }

  /** @internal a `tn_xla_device_t` */
  get deviceAddress(): number {
    return addressOf(this.record)
  }

  /** @internal a `tn_xla_memory_t` */
  get memoryAddress(): number {
    return addressOf(this.record) + RECORD.memory
  }

  /** @internal */
  get ordinal(): number {
    return this.device.ordinal
  }

  /** @internal keeps operands open until what is in the stream now is done */
  keep(held: readonly Gated[]): void {
    this.#work.keep([this, ...held])
  }

  /** Whether all its work is done. @throws {CudaError} if a kernel failed. */
  get isIdle(): boolean {
    this.enter()
    const result = Number(this.device.functions.streamQuery(this.address))
    if (result === NOT_READY) return false
    this.device.check(result, 'asking a stream')
    return true
  }

  /** Settles when the work that is in the stream now is done. @throws (rejects with) {CudaError} if a kernel failed. */
  async finished(): Promise<void> {
    this.enter()
    await this.#work.finished()
    if (this.device.failure !== undefined) throw this.device.failure
  }

  /** Waits for all its work; this thread does nothing else meanwhile. @throws {CudaError} if a kernel failed. */
  synchronize(): void {
    this.enter()
    this.#wait()
    this.#work.settleAll()
    if (this.device.failure !== undefined) throw this.device.failure
  }

  /** What is enqueued from now on waits for the work before a mark, in whatever stream it is. @throws {CudaError} if the driver fails. */
  waitFor(event: CudaEvent): void {
    this.enter()
    checkIs(event, CudaEvent, 'event')
    event.checkAlive()
    this.device.check(this.device.functions.streamWaitEvent(this.address, event.handle, 0), 'waiting for an event')
    this.keep([event])
  }

  /**
   * Enqueues a copy of all bytes of `from` to `to`: from the Host, to it, or on the device. Both stay open until it is done, which
   * {@link finished} tells; what it reads must not be changed before. Pinned memory of the Host is copied faster.
   *
   * @param to at least as large as `from`.
   * @throws {ArgumentError} if both are memory of the Host, or something is none. @throws {BoundsError} if `to` is too small.
   * @throws {ReadOnlyError} if `to` can't be written. @throws {ScopeClosedError} if one is closed. @throws {CudaError}
   */
  copy(from: Segment | Tensor, to: Segment | Tensor): void {
    this.enter()
    const [source, target] = [segmentOf(from, 'from'), writableOf(to)]
    const { byteSize } = source
    if (target.byteSize < byteSize) {
      throw new BoundsError(`to must have room for ${byteSize} bytes, it has ${target.byteSize}`)
    }
    const [fromDevice, toDevice] = [isOnDevice(from), isOnDevice(to)]
    if (!fromDevice && !toDevice) {
      throw new ArgumentError('a stream copies from or to memory of the device, got two segments of the Host')
    }
    if (byteSize === 0) return
    const { memcpyDtoD, memcpyDtoH, memcpyHtoD } = this.device.functions
    const copy = fromDevice ? (toDevice ? memcpyDtoD : memcpyDtoH) : memcpyHtoD
    this.device.check(copy(addressIn(target), addressIn(source), byteSize, this.address), `copying ${byteSize} bytes`)
    this.keep([source.block, target.block, ...this.#pinsOf(fromDevice ? target : source)])
  }

  /** Sets every byte of the device's memory. @param byte 0 to 255 @throws as {@link copy} */
  fill(to: Segment | Tensor, byte: number): void {
    this.enter()
    const target = writableOf(to)
    if (!isOnDevice(to)) throw new ArgumentError('a stream fills memory of the device, got memory of the Host')
    if (!(Number.isInteger(byte) && byte >= 0 && byte <= 255)) {
      throw new ArgumentError(`byte must be an integer from 0 to 255, got ${describe(byte)}`)
    }
    const { memset } = this.device.functions
    this.device.check(memset(addressIn(target), byte, target.byteSize, this.address), 'filling memory')
    this.keep([target.block])
  }

  /**
   * Launches a kernel: nothing checks that the parameters are those that it takes.
   *
   * @param parameters exactly the kernel's: tensors and segments of the device as pointers, numbers as `f32(x)`, `s32(x)` and so on.
   * @throws {ArgumentError} if something can't be passed. @throws {CudaError} if the driver refuses; what the kernel itself does
   * wrong is told by {@link finished}.
   */
  launch(kernel: CudaKernel, options: LaunchOptions, parameters: readonly KernelParameter[]): void {
    this.enter()
    checkIs((kernel as CudaKernel | undefined)?.module, CudaModule, 'the module of the kernel')
    kernel.module.checkAlive()
    const { pointers, held, memory } = encodeParameters(kernel.name, parameters)
    const { launchKernel } = this.device.functions
    const [grid, block, sharedBytes] = sizesOf(options)
    const [list, kept] = [parameters.length === 0 ? 0 : addressOf(pointers), memory]
    const result = launchKernel(Number(kernel.handle), ...grid, ...block, sharedBytes, this.address, list, 0)
    kept.setUint8(0, kept.getUint8(0)) // the driver has copied the parameters: until here they must not go
    this.device.check(result, `launching ${kernel.name}`)
    this.keep([kernel.module, ...held])
  }

  /** @internal makes the device's context current. @throws {ScopeClosedError} once closed. @throws {CudaError} if it is lost. */
  enter(): void {
    this.checkAlive()
    this.device.enter()
  }

  #pinsOf(host: Segment): Gated[] {
    const start = addressIn(host)
    return [...this.device.pinned].filter((pin) => pin.start < start + host.byteSize && start < pin.end)
  }

  #callBack(functionAddress: number, argument: number): number {
    this.device.leave()
    return Number(this.device.functions.launchHostFunc(this.address, functionAddress, argument))
  }

  #query(): CudaError | undefined {
    this.device.leave()
    const result = Number(this.device.functions.streamQuery(this.address))
    if (result === 0 || result === NOT_READY) return this.device.failure
    return this.device.error(result, 'the work of a stream')
  }

  #wait(): void {
    this.device.leave()
    this.device.check(this.device.functions.streamSynchronize(this.address), 'the work of a stream')
  }

  /** @internal waits for its work, whatever comes of it */
  settle(): void {
    if (this.#work.isEmpty) return
    try {
      this.#wait()
      this.#work.settleAll()
    } catch (error) {
      this.#work.fail(error as CudaError)
    }
  }
}

function segmentOf(memory: unknown, place: string): Segment {
  const segment = memory instanceof Tensor ? memory.segment.asSlice(0, memory.type.byteSize) : memory
  if (!(segment instanceof Segment))
    throw new ArgumentError(`${place} must be a tensor or segment, got ${describe(memory)}`)
  checkEnterable(segment.block)
  return segment
}

function writableOf(to: unknown): Segment {
  const segment = segmentOf(to, 'to')
  if ((segment.flags & READ_ONLY) !== 0) throw new ReadOnlyError('to must be writable, its memory is read-only')
  return segment
}

function addressIn({ block, base }: Segment): number {
  return block.address + base
}
