import { isProxy } from 'node:util/types'
import { ArgumentError, Tensor, type TensorType } from '@tenon/core'
import { adopt, globalGate, wrongType, type Gated } from '@tenon/core/internal'

/** The index of the first tensor in a list of operands, behind the call and its library. */
export const FIRST_TENSOR = 2

/** In each place of a list of operands that has no operand yet. */
export const UNSET: Gated = Object.freeze({ gate: globalGate })

/**
 * Makes a list of operands with places for the call, its library, and this many tensors. Compiled code makes a literal in place,
 * which takes a third of the time of an array that grows.
 */
export function listFor(tensors: number): Gated[] {
  const u = UNSET
  if (tensors === 2) return [u, u, u, u]
  if (tensors === 3) return [u, u, u, u, u]
  if (tensors === 4) return [u, u, u, u, u, u]
  if (tensors === 5) return [u, u, u, u, u, u, u]
  const list = [u, u]
  for (let i = 0; i < tensors; i++) list.push(u)
  return list
}

/** Copies what a caller passed, which may be anything, behind the places for the call and its library. Each element is read once. */
export function copyTensors(
  list: unknown[],
  operands: readonly unknown[],
  operandCount: number,
  results: readonly unknown[],
  resultCount: number,
): void {
  const firstResult = FIRST_TENSOR + operandCount
  for (let i = 0; i < operandCount; i++) list[FIRST_TENSOR + i] = operands[i]
  for (let i = 0; i < resultCount; i++) list[firstResult + i] = results[i]
}

/** Returns the types of the tensors of a list; undefined for a result that the call allocates. */
export function typesOf(list: readonly Gated[]): (TensorType | undefined)[] {
  const types: (TensorType | undefined)[] = []
  for (let i = FIRST_TENSOR; i < list.length; i++) types.push((list[i] as Partial<Tensor>).type)
  return types
}

/** More operands or results than any call has, and few enough to copy the list of them. */
export const MOST_TENSORS: number = 2 ** 20

export const MAKE_TENSORS = "Make tensors with tensor('f32', [2, 4], values)."

const { isGenuine } = Tensor

/** Whether a value is a tensor. A Proxy of a tensor is not one, because reading it runs code of the user. */
export function isTensor(value: unknown): value is Tensor {
  return typeof value === 'object' && value !== null && isGenuine(value)
}

/**
 * Returns a tensor over the memory of an object of another library, and all other values as they are.
 *
 * @throws {ArgumentError} if the memory cannot be used without a copy.
 */
export const ownTensor = (value: unknown, place: string): unknown =>
  isTensor(value) ? value : (adopt(value, place) ?? value)

/** Refuses a value in the place of a tensor. @throws {ArgumentError} */
export function refuseTensor(
  value: unknown,
  place: string,
  expected: string = 'a tensor',
  hint: string = MAKE_TENSORS,
): never {
  if (!isProxy(value)) throw wrongType(place, expected, value, hint)
  throw new ArgumentError(`${place} must be ${expected}, got a Proxy`, {
    hint: 'Pass the tensor itself, for example toRaw(x) for a reactive object of Vue.',
    details: { path: place, expected, received: 'a Proxy' },
  })
}
