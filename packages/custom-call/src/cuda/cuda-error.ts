import { TenonError } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** What a function of the CUDA driver returned. */
export interface CudaFailure {
  /** The CUresult. */
  readonly result: number
  /** Its name: `CUDA_ERROR_INVALID_VALUE`. */
  readonly resultName: string
  /** What the driver says about it. */
  readonly text: string
  /** What was being done. */
  readonly action: string
}

/** Results after which nothing works on the device any more, in this process: its memory is lost. */
const STICKY: ReadonlySet<number> = new Set([4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721])

/** Whether a result says that the device is lost to this process. */
export function isSticky(result: number): boolean {
  return STICKY.has(result)
}

/**
 * A function of the CUDA driver failed. The result is the driver's own number, with its name and its words.
 *
 * @example
 * try {
 *   await stream.finished()
 * } catch (error) {
 *   if (error instanceof CudaError) console.error(error.resultName) // 'CUDA_ERROR_ILLEGAL_ADDRESS'
 * }
 */
export class CudaError extends TenonError {
  static override readonly kind: string = 'CudaError'
  readonly result: number
  readonly resultName: string
  /** Whether the device is lost to this process: only a new process can use it again. */
  readonly isFatal: boolean

  constructor({ result, resultName, text, action }: CudaFailure) {
    const isFatal = isSticky(result)
    super('TENON_CUDA', `${action} failed with ${resultName} (${result}): ${text}`, {
      ...(isFatal
        ? { hint: 'a kernel failed, and the device is lost to this process: start another one to use it again.' }
        : {}),
      details: { result, resultName, text, action, isFatal },
    })
    this.result = result
    this.resultName = resultName
    this.isFatal = isFatal
  }
}
defineKind(CudaError)

/** The device has not enough memory. An {@link AllocationError} too, and so a `RangeError`. */
export class CudaOutOfMemoryError extends CudaError {
  static override readonly kind: string = 'CudaOutOfMemoryError'
}
defineKind(CudaOutOfMemoryError, ['CudaError', 'AllocationError'], RangeError)

/**
 * There is no CUDA here: the driver can't be loaded, or finds no device. The loader's or driver's own words are in the message.
 * Everything that needs no device works.
 */
export class CudaUnavailableError extends TenonError {
  static override readonly kind: string = 'CudaUnavailableError'
  constructor(reason: string, options: { readonly library: string; readonly cause?: unknown }) {
    super('TENON_CUDA_UNAVAILABLE', `CUDA is not available: ${reason}`, {
      hint: "the library comes with NVIDIA's driver; in a container, the runtime has to bring it in.",
      details: { library: options.library, reason },
      ...('cause' in options ? { cause: options.cause } : {}),
    })
  }
}
defineKind(CudaUnavailableError)
