import { ArgumentError } from '../errors/kinds.ts'
import type { Device } from './device.ts'
import type { TensorType } from './tensor-type.ts'

/** The error of a tensor that does not have the elements that its user states. */
export const wrongElements = (type: TensorType, expected: string): ArgumentError =>
  new ArgumentError(`the tensor must be ${expected}, got ${type}`, {
    hint: 'Make a tensor with elements of this type: tensor(dtype, shape, values).',
    details: { expected, received: type.dtype },
  })

/** The error of reading the only element of a tensor that does not have exactly one. */
export const notSingle = (type: TensorType): ArgumentError =>
  new ArgumentError(`item() takes a tensor with one element, got ${type}`, {
    hint: 'Read one of several elements with at(...index).',
  })

/** The error of reading memory of a device. */
export const notOnCpu = ({ type }: Device): ArgumentError =>
  new ArgumentError(`a tensor must be on the CPU to be read, got one on device type ${type}`)
