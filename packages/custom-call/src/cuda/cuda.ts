import { ArgumentRangeError, LoadError, NativeLibrary } from '@tenon/core'
import { addressOf, checkSize, stringAt } from '@tenon/core/internal'
import { CudaDevice } from './cuda-device.ts'
import { CudaError, CudaOutOfMemoryError, CudaUnavailableError } from './cuda-error.ts'
import { declareDriver, type DriverFunctions } from './driver-functions.ts'

/** What the driver is called on each system. */
const DRIVER = process.platform === 'win32' ? 'nvcuda.dll' : 'libcuda.so.1'

const OUT_OF_MEMORY = 2

const opened = new Map<string, Cuda>()

/**
 * The CUDA driver of this process. It is loaded when it is first asked for, and never unloaded.
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
export class Cuda {
  /** What was loaded. */
  readonly path: string
  /** The newest version of CUDA that the driver knows: `13.0`. */
  readonly version: string
  /** @internal */
  readonly library: NativeLibrary
  /** @internal */
  readonly functions: DriverFunctions

  private constructor(path: string, library: NativeLibrary, functions: DriverFunctions) {
    this.path = path
    this.library = library
    this.functions = functions
    const version = this.readInt((out) => functions.driverGetVersion(out), 'asking for the version of the driver')
    this.version = `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`
  }

  /**
   * Loads the driver and initialises it; once for each library, however often it is called.
   *
   * @param options.library the driver's path, or a name that the loader searches for; `libcuda.so.1` without it.
   * @throws {CudaUnavailableError} if it can't be loaded, is too old, or finds no device: with the reason.
   */
  static open({ library: path = DRIVER }: { readonly library?: string } = {}): Cuda {
    const known = opened.get(path)
    if (known !== undefined) return known
    const cuda = load(path, (library) => new Cuda(path, library, declareDriver(library)))
    const result = Number(cuda.functions.init(0))
    if (result !== 0) {
      const { message, cause } = reasonOf(cuda.error(result, 'cuInit'))
      throw new CudaUnavailableError(message, { library: path, cause })
    }
    opened.set(path, cuda)
    return cuda
  }

  /** How many devices there are. @throws {CudaError} if the driver fails. */
  get deviceCount(): number {
    return this.readInt((out) => this.functions.deviceGetCount(out), 'counting the devices')
  }

  /**
   * A device by its number, from 0, with its primary context: the one that kernels of the CUDA runtime use as well.
   *
   * @throws {ArgumentRangeError} if there is none of this number. @throws {CudaError} if the driver fails.
   */
  openDevice(ordinal: number = 0): CudaDevice {
    const count = this.deviceCount
    if (checkSize(ordinal, 'ordinal', 'devices') >= count) {
      throw new ArgumentRangeError(`ordinal must be below ${count}, the number of devices, got ${ordinal}`)
    }
    return new CudaDevice(this, ordinal)
  }

  /** @internal the error of a result, which is not 0 */
  error(result: number, action: string): CudaError {
    const { getErrorName, getErrorString } = this.functions
    const text = (read: DriverFunctions['getErrorName'], otherwise: string): string => {
      const out = new BigUint64Array(1)
      return Number(read(result, addressOf(out))) === 0 ? stringAt(Number(out[0])) : otherwise
    }
    const failure = {
      result,
      resultName: text(getErrorName, `CUDA result ${result}`),
      text: text(getErrorString, 'the driver knows no such result'),
      action,
    }
    return result === OUT_OF_MEMORY ? new CudaOutOfMemoryError(failure) : new CudaError(failure)
  }

  /** @internal @throws {CudaError} unless a result is 0 */
  check(result: unknown, action: string): void {
    if (Number(result) !== 0) throw this.error(Number(result), action)
  }

  /** @internal the int that a function writes. @throws {CudaError} if it fails */
  readInt(read: (out: number) => unknown, action: string): number {
    const out = new Int32Array(2)
    this.check(read(addressOf(out)), action)
    return out[0]!
  }

  /** @internal the handle or size that a function writes. @throws {CudaError} if it fails */
  readHandle(read: (out: number) => unknown, action: string): number {
    const out = new BigUint64Array(1)
    this.check(read(addressOf(out)), action)
    return Number(out[0])
  }
}

function load(path: string, make: (library: NativeLibrary) => Cuda): Cuda {
  try {
    return make(NativeLibrary.open(path))
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    const { message, cause } = reasonOf(error)
    throw new CudaUnavailableError(message, { library: path, cause })
  }
}

function reasonOf(error: LoadError | CudaError): { readonly message: string; readonly cause: unknown } {
  return { message: error.sentence, cause: error }
}
