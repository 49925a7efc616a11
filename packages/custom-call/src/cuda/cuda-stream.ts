import { ArgumentError, BoundsError, ReadOnlyError, Tensor, type Segment } from '@tenon/core'
import { keepAlive, READ_ONLY, wrongValue, type Gated } from '@tenon/core/internal'
import { checkIs } from './check-is.ts'
import { CudaEvent } from './cuda-event.ts'
import { CudaKernel } from './cuda-module.ts'
import { addressIn, isOnDevice, segmentOf } from './device-memory.ts'
import { encodeParameters, sizesOf, type KernelParameter, type LaunchOptions } from './launch.ts'
import { StreamQueue } from './stream-queue.ts'

/**
 * A queue of work on a device. Calls, copies and kernels run one after another while JavaScript continues, and hold the
 * memory that they use until they are done. Closing the stream waits for its work. Created by
 * {@link CudaDevice.openStream}.
 *
 * @example
 * using stream = device.openStream()
 * stream.copy(tensor('f32', [4], [1, 2, 3, 4]), dx)
 * const host = tensor('f32', [1024])
 * stream.copy(dx, host)
 * await stream.finished()
 */
export class CudaStream extends StreamQueue {
  /** Makes later work of this stream wait for the work before a marker in any stream. @throws {CudaError} if the driver fails. */
  waitFor(event: CudaEvent): void {
    this.enter()
    checkIs(event, CudaEvent, 'event')
    event.checkOpen()
    this.device.run('streamWaitEvent', 'waiting for an event', this.address, event.address, 0)
    this.keep([event])
  }

  /**
   * Enqueues a copy of all bytes of `from` to `to`. At most one of them is host memory. Both are held open until the copy is
   * done, and you must not change the source before then ({@link finished}). Pinned host memory is copied faster.
   *
   * @param to memory that is at least as large as `from`.
   * @throws {ArgumentError} if both are host memory, or one is not memory. @throws {BoundsError} if `to` is too small.
   * @throws {ReadOnlyError} if `to` is read-only. @throws {ScopeClosedError} if one is closed. @throws {CudaError}
   */
  copy(from: Segment | Tensor, to: Segment | Tensor): void {
    this.enter()
    const [source, target] = [exactly(from, 'from'), writableOf(to)]
    const { byteSize } = source
    if (target.byteSize < byteSize) {
      throw new BoundsError(`to must have room for ${byteSize} bytes, got ${target.byteSize}`)
    }
    const [fromDevice, toDevice] = [isOnDevice(from), isOnDevice(to)]
    if (!fromDevice && !toDevice) {
      throw new ArgumentError('from or to must be device memory, got two segments of the host')
    }
    if (byteSize === 0) return
    const copy = fromDevice ? (toDevice ? 'memcpyDtoD' : 'memcpyDtoH') : 'memcpyHtoD'
    this.device.run(copy, `copying ${byteSize} bytes`, addressIn(target), addressIn(source), byteSize, this.address)
    this.keep([source.block, target.block, ...this.#pinsOf(fromDevice ? target : source)])
  }

  /** Enqueues work that sets every byte of device memory. @param byte 0 to 255. @throws the errors of {@link copy} */
  fill(to: Segment | Tensor, byte: number): void {
    this.enter()
    const target = writableOf(to)
    if (!isOnDevice(to)) throw new ArgumentError('to must be device memory, got host memory')
    if (!(Number.isInteger(byte) && byte >= 0 && byte <= 255)) {
      throw wrongValue('byte', 'an integer from 0 to 255', byte)
    }
    this.device.run('memset', 'filling memory', addressIn(target), byte, target.byteSize, this.address)
    this.keep([target.block])
  }

  /**
   * Enqueues a kernel. The number and types of the parameters are not checked against the kernel.
   *
   * @param parameters device tensors and segments for pointers, and attributes such as `f32(x)` or `s32(x)` for numbers.
   * @throws {ArgumentError} if a parameter cannot be passed. @throws {CudaError} if the driver refuses; an error of the
   * kernel itself is reported by {@link finished}.
   */
  launch(kernel: CudaKernel, options: LaunchOptions, parameters: readonly KernelParameter[]): void {
    this.enter()
    checkIs(kernel, CudaKernel, 'kernel')
    kernel.module.checkOpen()
    const { memory, pointersAddress, held } = encodeParameters(kernel.name, parameters)
    const { launchKernel } = this.device.functions
    const [grid, block, sharedBytes] = sizesOf(options)
    const result = launchKernel(Number(kernel.handle), ...grid, ...block, sharedBytes, this.address, pointersAddress, 0)
    // The driver has copied the parameters by now.
    keepAlive(memory)
    this.device.check(result, `launching ${kernel.name}`)
    this.keep([kernel.module, ...held])
  }

  #pinsOf(host: Segment): Gated[] {
    const start = addressIn(host)
    return [...this.device.pinned].filter((pin) => pin.address < start + host.byteSize && start < pin.end)
  }
}

/** Returns the bytes of a segment or tensor, which may begin a longer segment. */
function exactly(memory: unknown, place: string): Segment {
  const segment = segmentOf(memory, place)
  return memory instanceof Tensor ? segment.asSlice(0, memory.type.byteSize) : segment
}

function writableOf(to: unknown): Segment {
  const segment = exactly(to, 'to')
  if ((segment.flags & READ_ONLY) !== 0) throw new ReadOnlyError('to must be writable, got read-only memory')
  return segment
}
