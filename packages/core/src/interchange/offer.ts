import { cpu, type Device } from '../types/device.ts'
import type { DType } from '../types/dtype.ts'
import type { TensorType } from '../types/tensor-type.ts'
import { tensorSymbol, type StringDescription, type TensorDescription } from './protocol.ts'

/** Makes the objects of a class offer their memory. Called once in a static block of the class. */
export function offers<Self extends object>(
  Class: { readonly prototype: Self },
  describe: (self: Self) => TensorDescription | StringDescription,
): void {
  Object.defineProperty(Class.prototype, tensorSymbol, {
    value(this: Self): TensorDescription | StringDescription {
      return describe(this)
    },
    configurable: true,
    writable: true,
  })
}

/** Memory with its type, as a tensor has it. */
export interface OfferedMemory {
  readonly segment: {
    readonly readOnly: boolean
    readonly address: bigint
    view(): DataView
    pin(): { release(): void }
  }
  readonly type: Pick<TensorType, 'dtype' | 'shape' | 'strides' | 'packing' | 'byteSize'>
  readonly device: Device
}

/**
 * The description of a tensor or a segment. Memory that must not be written is described by a copy, as `view()` returns it, and that of a
 * device by its address.
 *
 * @throws {ScopeClosedError | WrongThreadError} if the memory is closed.
 */
export function describeMemory<D extends DType>(
  owner: object,
  { segment, type, device }: OfferedMemory,
): TensorDescription<D> {
  const { dtype, shape, strides, packing, byteSize } = type
  const hold = (): { release(): void } => segment.pin()
  const common = { version: 1, dtype: dtype as D, shape, strides, packing, device, owner, hold } as const
  if (device.type !== cpu.type) return { ...common, address: segment.address, byteSize, readOnly: segment.readOnly }
  const { buffer, byteOffset } = segment.view()
  return { ...common, buffer, byteOffset, copied: segment.readOnly }
}
