import { LoadError, NativeLibrary } from '@tenon/core'
import { addressOf, stringAt } from '@tenon/core/internal'
import { CudaError, CudaOutOfMemoryError, CudaUnavailableError } from './cuda-error.ts'
import { declareDriver, type DriverFunctionName, type DriverFunctions } from './driver-functions.ts'

const OUT_OF_MEMORY = 2

/** A loaded CUDA driver: its functions, and the errors that their results become. */
export class CudaDriver {
  /** The path or name by which the driver was loaded. */
  readonly path: string
  /** @internal */
  readonly library: NativeLibrary
  /** @internal */
  readonly functions: DriverFunctions

  /** @internal @throws {CudaUnavailableError} if the library cannot be loaded, or lacks a function. */
  constructor(path: string) {
    this.path = path
    try {
      this.library = NativeLibrary.open(path)
      this.functions = declareDriver(this.library)
    } catch (error) {
      if (!(error instanceof LoadError)) throw error
      throw new CudaUnavailableError(error.sentence, { library: path, cause: error })
    }
  }

  /** @internal Returns the error of a result other than 0. */
  error(result: number, action: string): CudaError {
    const { getErrorName, getErrorString } = this.functions
    const text = (read: DriverFunctions['getErrorName'], otherwise: string): string => {
      const out = new BigUint64Array(1)
      return Number(read(result, addressOf(out))) === 0 ? stringAt(Number(out[0])) : otherwise
    }
    const failure = {
      result,
      resultName: text(getErrorName, `CUDA result ${result}`),
      text: text(getErrorString, 'the driver does not know this result'),
      action,
    }
    return result === OUT_OF_MEMORY ? new CudaOutOfMemoryError(failure) : new CudaError(failure)
  }

  /** @internal @throws {CudaError} unless a result is 0. */
  check(result: unknown, action: string): void {
    if (Number(result) !== 0) throw this.error(Number(result), action)
  }

  /**
   * @internal Calls a function that writes a handle, a size or a number that is not negative, and returns it.
   *
   * @param rest the arguments behind the address to write to.
   * @throws {CudaError} if the function fails.
   */
  read(name: DriverFunctionName, action: string, ...rest: readonly number[]): number {
    // A function that writes an int leaves the upper half 0.
    const out = new BigUint64Array(1)
    this.check(this.functions[name](addressOf(out), ...rest), action)
    return Number(out[0])
  }
}
