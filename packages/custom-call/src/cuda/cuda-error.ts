import { TenonError } from '@tenon/core'
import { defineKind } from '@tenon/core/internal'

/** The failure of a CUDA driver function. */
export interface CudaFailure {
  /** The CUresult. */
  readonly result: number
  /** The name of the result, such as `CUDA_ERROR_INVALID_VALUE`. */
  readonly resultName: string
  /** The driver's description of the result. */
  readonly text: string
  /** The action that failed, for the message. */
  readonly action: string
}

/** Results after which the device and its memory are lost to this process. */
const STICKY: ReadonlySet<number> = new Set([4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721])

export const NOT_READY = 600

export function isSticky(result: number): boolean {
  return STICKY.has(result)
}

/**
 * The error of a CUDA driver function. It has the number, name and description of the driver's result.
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
  /** Whether the device is lost to this process. Only a new process can use the device again. */
  readonly isFatal: boolean

  constructor({ result, resultName, text, action }: CudaFailure) {
    const isFatal = isSticky(result)
    super('TENON_CUDA', `${action} failed with ${resultName} (${result}): ${text}`, {
      ...(isFatal
        ? {
            hint: 'Start another process to use the device, because a kernel failed and the device is lost to this process.',
          }
        : {}),
      details: { result, resultName, text, action, isFatal },
    })
    this.result = result
    this.resultName = resultName
    this.isFatal = isFatal
  }
}
defineKind(CudaError)

/** The device does not have enough memory. The error is also an `AllocationError`, and therefore a `RangeError`. */
export class CudaOutOfMemoryError extends CudaError {
  static override readonly kind: string = 'CudaOutOfMemoryError'
}
defineKind(CudaOutOfMemoryError, ['CudaError', 'AllocationError'], RangeError)

/**
 * CUDA is not available, because the driver cannot be loaded or finds no device. The message quotes the loader or the
 * driver. Everything that does not need a device works.
 */
export class CudaUnavailableError extends TenonError {
  static override readonly kind: string = 'CudaUnavailableError'
  constructor(reason: string, options: { readonly library: string; readonly cause?: unknown }) {
    super('TENON_CUDA_UNAVAILABLE', `CUDA is not available: ${reason}`, {
      hint: "Install NVIDIA's driver. In a container, start it with a runtime that provides the driver.",
      details: { library: options.library, reason },
      ...('cause' in options ? { cause: options.cause } : {}),
    })
  }
}
defineKind(CudaUnavailableError)
