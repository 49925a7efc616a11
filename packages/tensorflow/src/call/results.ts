import {
  ArgumentError,
  cpu,
  gcAllocator,
  ReadOnlyError,
  Segment,
  tensorType,
  Tensor,
  type NativeAllocator,
} from '@tenon/core'
import {
  asTensor,
  checkEnterable,
  isPlainObject,
  isForeign,
  newCollected,
  READ_ONLY,
  refuseOverlaps as refuseOverlapping,
  TENSOR_ALIGNMENT,
  wrongType,
} from '@tenon/core/internal'
import type { OperationDefinition } from '../operation.ts'
import { isTensorList } from '../bind-operands.ts'
import { STRING, type ElementType } from '../element-types.ts'
import type { Operand } from './operand.ts'

/** Allocates memory for a result. */
export function allocate(byteSize: number, allocator: NativeAllocator): Segment {
  return allocator === gcAllocator
    ? newCollected(byteSize, TENSOR_ALIGNMENT)
    : allocator.allocate(byteSize, TENSOR_ALIGNMENT)
}

/** Returns the type of a result. */
export const resultType = ({ dtype }: ElementType, shape: readonly number[]): Tensor['type'] =>
  tensorType(dtype!, shape)

/** A result in the memory of an operand. */
export function overOperand({ tensor }: Operand, type: Tensor['type']): Tensor {
  const { block, base, flags } = tensor
  return new Tensor(new Segment(block, base, type.byteSize, flags), type, cpu)
}

/**
 * Reads the option `into`: a tensor for the only result, or tensors by name, with arrays for lists.
 *
 * @param types the element types of all results
 * @returns the tensors by the index of the result; undefined for a result that the call allocates
 * @throws {ArgumentError | ReadOnlyError} with the result that is unknown, or cannot be written
 */
export function readInto(
  { name, outputs }: OperationDefinition,
  counts: readonly number[],
  types: readonly ElementType[],
  into: unknown,
): (Tensor | undefined)[] {
  if (into === undefined) return types.map(() => undefined)
  const isSingle = outputs.length === 1 && !isTensorList(outputs[0]!)
  const isNamed = !isSingle || (isPlainObject(into) && (Object.hasOwn(into, outputs[0]!.name) || !isForeign(into)))
  const values = isNamed ? into : { [outputs[0]!.name]: into }
  if (!isPlainObject(values)) throw wrongType(`into of ${name}`, 'an object of tensors by name', into)
  const byName: Readonly<Record<string, unknown>> = { ...values }
  for (const key of Object.keys(byName)) {
    if (!outputs.some((output) => output.name === key)) throw new ArgumentError(`${name} has no result ${key}`)
  }
  let next = 0
  return outputs.flatMap((output, i) => {
    const value = byName[output.name]
    const list = isTensorList(output) ? (value ?? []) : [value]
    if (!Array.isArray(list)) throw wrongType(`${output.name} of ${name}`, 'an array of tensors', value)
    return Array.from({ length: counts[i]! }, (_, k) =>
      checkTarget(list[k], types[next++]!, `${output.name} of ${name}`),
    )
  })
}

function checkTarget(given: unknown, type: ElementType, place: string): Tensor | undefined {
  if (given === undefined) return undefined
  if (type === STRING) {
    throw new ArgumentError(`${place} has strings, which the call allocates`, { hint: 'Omit the result from into.' })
  }
  const value = asTensor(given, place)
  checkEnterable(value.block)
  if (
    value.dtype !== type.dtype ||
    !value.isContiguous ||
    value.packing === 'packed' ||
    value.device.type !== cpu.type
  ) {
    throw new ArgumentError(`${place} must be a row-major tensor of ${type.dtype} on the CPU, got ${value.type}`)
  }
  if ((value.flags & READ_ONLY) !== 0) throw new ReadOnlyError(`${place} must be writable, got read-only memory`)
  return value
}

/** Refuses memory for results that overlaps other memory of the call, unless it is exactly that of an operand. @throws {ArgumentError} */
export function refuseOverlaps(
  operands: readonly Operand[],
  into: readonly (Tensor | undefined)[],
  name: string,
): void {
  const tensors = [...operands.map(({ tensor }) => tensor), ...into.filter((one) => one !== undefined)]
  const types = tensors.map(({ type }) => type)
  refuseOverlapping(types, operands.length, tensors, (i) =>
    i < operands.length ? `operand ${i} of ${name}` : `into of ${name}`,
  )
}

/** Returns the value of a call: the only result, an object of results by name, or undefined. */
export function valueOf(
  { outputs }: OperationDefinition,
  counts: readonly number[],
  results: readonly unknown[],
): unknown {
  if (outputs.length === 0) return undefined
  let next = 0
  const grouped = outputs.map((output, i) => {
    const list = results.slice(next, (next += counts[i]!))
    return isTensorList(output) ? list : list[0]
  })
  if (outputs.length === 1 && !isTensorList(outputs[0]!)) return grouped[0]
  return Object.fromEntries(outputs.map((output, i) => [output.name, grouped[i]]))
}
