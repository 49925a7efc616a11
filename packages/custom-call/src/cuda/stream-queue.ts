import {
  addressOf,
  checkStatus,
  coreFunctions,
  threadDriver,
  type Gated,
  LAYOUTS,
  writeAddress,
} from '@tenon/core/internal'
import type { DeviceStream } from '../targets/call-resources.ts'
import type { CudaContext } from './cuda-context.ts'
import { NOT_READY, type CudaError } from './cuda-error.ts'
import { DeviceResource } from './device-resource.ts'
import { driverAddress, type DriverFunctionName } from './driver-functions.ts'
import { StreamWork } from './stream-work.ts'

/** The flag of a stream that does not wait for the default stream. */
const NON_BLOCKING = 1

const { size: RECORD_SIZE, offsets: RECORD } = LAYOUTS.tn_cuda_stream_t

const RECORD_FUNCTIONS = [
  ['set_current', 'ctxSetCurrent'],
  ['allocate', 'memAllocAsync'],
  ['release', 'memFreeAsync'],
  ['begin_capture', 'streamBeginCapture'],
  ['end_capture', 'streamEndCapture'],
  ['synchronize', 'streamSynchronize'],
] as const satisfies readonly (readonly [keyof typeof RECORD, DriverFunctionName])[]

/** The base class of {@link CudaStream}, which tracks completion, failures, and the operands that the work holds open. */
export abstract class StreamQueue extends DeviceResource implements DeviceStream {
  /** @internal */
  readonly record: DataView
  readonly #work: StreamWork

  /** @internal */
  constructor(device: CudaContext) {
    super(device, 'CudaStream', 'streamDestroy', () =>
      device.driver.read('streamCreate', 'creating a stream', NON_BLOCKING),
    )
    device.streams.add(this)
    this.record = this.#layOutRecord()
    this.#work = new StreamWork(this)
  }

  #layOutRecord(): DataView {
    const view = new DataView(new ArrayBuffer(RECORD_SIZE))
    const pointer = (at: number, value: number): void => writeAddress(view, at, value)
    pointer(RECORD.stream, this.address)
    pointer(RECORD.context, this.device.context)
    for (const [member, name] of RECORD_FUNCTIONS)
      pointer(RECORD[member], driverAddress(this.device.driver.library, name))
    // The end of the thread waits for streams that were opened after the driver.
    threadDriver()
    checkStatus(coreFunctions().tn_cuda_stream_open(addressOf(view)), 'opening a stream')
    return view
  }

  protected override release(): void {
    this.device.streams.delete(this)
    coreFunctions().tn_cuda_stream_close(addressOf(this.record))
    super.release()
  }

  /** The driver's CUstream. */
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

  /** @internal Allocates memory for work that is enqueued from now on. @returns its address. */
  allocateScratch(byteSize: number): number {
    this.enter()
    return this.device.driver.read('memAllocAsync', `allocating ${byteSize} bytes of scratch`, byteSize, this.address)
  }

  /** @internal Frees memory after the work that is in the stream now. A failure is ignored, as for memory that handlers allocate. */
  freeScratch(address: number): void {
    this.device.enterToFree()
    this.device.functions.memFreeAsync(address, this.address)
  }

  /** @internal Keeps operands open until the work that is in the stream now is done. */
  keep(held: readonly Gated[]): void {
    this.#work.keep([this, ...held])
  }

  /** Whether all work is done. @throws {CudaError} if a kernel failed. */
  get isIdle(): boolean {
    this.enterToRead()
    return this.device.isDone('streamQuery', this.address, 'asking a stream')
  }

  /** Resolves when all work that is currently enqueued is done. @throws (rejects with) {CudaError} if a kernel failed. */
  async finished(): Promise<void> {
    this.enterToRead()
    await this.#work.finished()
    if (this.device.failure !== undefined) throw this.device.failure
  }

  /** Blocks this thread until all work is done. @throws {CudaError} if a kernel failed. */
  synchronize(): void {
    this.enterToRead()
    this.wait()
    this.#work.settleAll()
    if (this.device.failure !== undefined) throw this.device.failure
  }

  /** @internal */
  settle(): void {
    if (!this.#work.isEmpty) this.#work.wait()
  }

  /** @internal */
  async settled(): Promise<void> {
    // finished() reports failures. Closing a resource on a lost device is not an error.
    await this.#work.finished().catch(() => {})
  }

  /** @internal */
  callBack(functionAddress: number, argument: number): number {
    this.device.enterToFree()
    return Number(this.device.functions.launchHostFunc(this.address, functionAddress, argument))
  }

  /** @internal */
  findFailure(): CudaError | undefined {
    this.device.enterToFree()
    const result = Number(this.device.functions.streamQuery(this.address))
    if (result === 0 || result === NOT_READY) return this.device.failure
    return this.device.error(result, 'the work of a stream')
  }

  /** @internal */
  wait(): void {
    this.device.enterToFree()
    this.device.run('streamSynchronize', 'the work of a stream', this.address)
  }
}
