import type { KernelConvention } from '@tenon/core'
import type { OperationText } from '@tenon/tensorflow/internal'
import { checkOptions, didYouMean, KERNEL_CONVENTIONS, wrongType } from '@tenon/core/internal'

/** The options of {@link Library.kernel}. */
export interface KernelOptions {
  /** The signature of the kernel in the signature language. It replaces the one of the library and of its sidecar. */
  readonly signature?: string
  /** The convention of a symbol that the library does not mark. With a signature, the default is `typed`. */
  readonly convention?: KernelConvention
  /** The number of prepared frames that the kernel keeps: 1 to 64, by default 8. */
  readonly frames?: number
  /** The platform of a typed handler. Default: `Host`. */
  readonly platform?: string
  /** Whether the name is one under which the library has registered a typed handler itself. */
  readonly registered?: boolean
  /** Whether to accept handlers for a newer minor version of XLA FFI. */
  readonly allowNewerApi?: boolean
  /** The definition of the operation, for a kernel of TensorFlow's C API whose library does not define it. */
  readonly definition?: OperationText
  /** The device for which a kernel of TensorFlow's C API is registered; its code must run in host memory. Default: `CPU`. */
  readonly device?: string
  /** The label of a kernel of TensorFlow's C API. */
  readonly label?: string
}

const KNOWN = [
  ...(['signature', 'convention', 'frames', 'platform', 'registered', 'allowNewerApi'] as const),
  ...(['definition', 'device', 'label'] as const),
] as const

/** Reads the options once. @throws {ArgumentError} */
export function readKernelOptions(options: KernelOptions | undefined): KernelOptions {
  const given = { ...checkOptions(options, KNOWN, 'the options of kernel()') }
  if (
    given.convention !== undefined &&
    given.convention !== 'tensorflow' &&
    !KERNEL_CONVENTIONS.includes(given.convention)
  ) {
    const hint = typeof given.convention === 'string' ? didYouMean(given.convention, KERNEL_CONVENTIONS) : undefined
    throw wrongType('convention', `one of ${KERNEL_CONVENTIONS.join(', ')}`, given.convention, hint)
  }
  return given
}
