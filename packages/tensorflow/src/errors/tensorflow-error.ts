import { TenonError } from '@tenon/core'
import { abslCodeName, defineKind, type AbslCodeName } from '@tenon/core/internal'

/** The facts of a failure that a kernel, or TensorFlow's C API for it, reported. */
export interface TensorFlowFailure {
  /** The code of the status, any 32-bit integer. */
  readonly code: number
  /** The message of the kernel, unchanged. */
  readonly text: string
  /** The name of the operation. */
  readonly operation: string
  /** The path of the library. */
  readonly path: string
  /** What the kernel attached to the status, by its keys. */
  readonly payloads: Readonly<Record<string, string>>
}

/**
 * The error of a kernel of TensorFlow's C API that set a status. `details` has the `operation`, the `path` of its library, the
 * number `status`, the unchanged `text`, and the `payloads` of the status.
 *
 * @example
 * try {
 *   decorate(StringTensor.from(['a']), { suffix: '' })
 * } catch (error) {
 *   if (error instanceof TensorFlowError && error.codeName === 'INVALID_ARGUMENT') console.error(error.text)
 * }
 */
export class TensorFlowError extends TenonError {
  static override readonly kind: string = 'TensorFlowError'
  /** The name of the code, such as `INVALID_ARGUMENT`. */
  readonly codeName: AbslCodeName
  /** The message of the kernel, unchanged. */
  readonly text: string

  constructor({ code, text, operation, path, payloads }: TensorFlowFailure) {
    const codeName = abslCodeName(code)
    const label = codeName === 'UNKNOWN' && code !== 2 ? `${codeName} (code ${code})` : codeName
    const words = text.replaceAll(/\s*\n\s*/g, ' ') || 'no message'
    super('TENON_TENSORFLOW', `${operation} answered ${label}: ${words}`, {
      details: { operation, path, status: code, codeName, text, payloads },
    })
    this.codeName = codeName
    this.text = text
  }
}
defineKind(TensorFlowError)
