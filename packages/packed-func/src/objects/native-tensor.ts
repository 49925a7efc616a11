import { TypeIndex } from '../native/type-index.ts'
import { NativeObject } from './native-object.ts'

/**
 * A tensor of native code that Tenon cannot read: its memory is on a device or null, or Tenon does not have its type. It can be passed to
 * other functions. It prints with the reason.
 *
 * @example
 * const made = fromDLPack(toDLPack(x))
 * if (made instanceof NativeTensor) console.log(made.reason) // such as: its strides must not be negative, got [-1]
 */
export class NativeTensor extends NativeObject {
  static override readonly typeKey: string = 'ffi.Tensor'

  /** The reason why it is not a `Tensor`. */
  readonly reason: string

  /** @internal Takes over a reference. */
  constructor(handle: number, reason: string) {
    super(TypeIndex.Tensor, handle)
    this.reason = reason
  }

  /** The type and the reason: `[ffi.Tensor: its data must not be null]`. */
  override toString(): string {
    return super.toString().replace(/\]$/, `: ${this.reason}]`)
  }
}
