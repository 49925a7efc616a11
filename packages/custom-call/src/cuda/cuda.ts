import { checkOptions, checkSize, inspectAsText, wrongValue } from '@tenon/core/internal'
import { CudaDevice } from './cuda-device.ts'
import { CudaDriver } from './cuda-driver.ts'
import { CudaUnavailableError } from './cuda-error.ts'

const DRIVER = process.platform === 'win32' ? 'nvcuda.dll' : 'libcuda.so.1'

const opened = new Map<string, Cuda>()

/**
 * The CUDA driver of this process. {@link Cuda.open} loads it, and it is never unloaded.
 *
 * @example
 * const cuda = Cuda.open()
 * using device = cuda.openDevice(0)
 * using stream = device.openStream()
 * using memory = device.allocate(16)
 * const x = memory.tensor('f32', [4])
 * stream.copy(tensor('f32', [4], [1, 2, 3, 4]), x)
 * await stream.finished()
 */
export class Cuda extends CudaDriver {
  /** The newest version of CUDA that the driver supports, such as `13.0`. */
  readonly version: string

  private constructor(path: string) {
    super(path)
    const version = this.read('driverGetVersion', 'asking for the version of the driver')
    this.version = `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`
  }

  /**
   * Loads and initialises the driver, once for each library.
   *
   * @param options.library the driver's path, or a name that the loader searches for. Default: `libcuda.so.1`.
   * @throws {CudaUnavailableError} with the reason, if the driver cannot be loaded, is too old, or finds no device.
   */
  static open(options?: { readonly library?: string }): Cuda {
    const { library: path = DRIVER } = checkOptions(options, ['library'])
    const known = opened.get(path)
    if (known !== undefined) return known
    const cuda = new Cuda(path)
    const result = Number(cuda.functions.init(0))
    if (result !== 0) {
      const cause = cuda.error(result, 'cuInit')
      throw new CudaUnavailableError(cause.sentence, { library: path, cause })
    }
    opened.set(path, cuda)
    return cuda
  }

  /** The number of devices. @throws {CudaError} if the driver fails. */
  get deviceCount(): number {
    return this.read('deviceGetCount', 'counting the devices')
  }

  /**
   * Opens a device by its number, which starts at 0. The device uses its primary context, as the CUDA runtime does.
   *
   * @throws {ArgumentRangeError} if no device has this number. @throws {CudaError} if the driver fails.
   */
  openDevice(ordinal: number = 0): CudaDevice {
    const count = this.deviceCount
    if (checkSize(ordinal, 'ordinal', 'devices') >= count) {
      throw wrongValue('ordinal', `below ${count}, the number of devices`, ordinal)
    }
    return new CudaDevice(this, ordinal)
  }

  /** Returns the version and path of the driver. */
  override toString(): string {
    return `Cuda ${this.version} (${this.path})`
  }
}
inspectAsText(Cuda)
