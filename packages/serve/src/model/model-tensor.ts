import {
  Tensor,
  tensor,
  tensorType,
  type KernelSignature,
  type NativeAllocator,
  type Parameter,
  type TensorType,
} from '@tenon/core'
import { resolveCall, stringType } from '@tenon/core/internal'
import { StringTensor } from 'tenon/tstring'

/** An input or an output of a model. */
export type ModelTensor = Tensor | StringTensor

export const isModelTensor = (value: unknown): value is ModelTensor =>
  value instanceof Tensor || value instanceof StringTensor

/** The type for checks against a signature, in which strings count as the bytes of their memory. */
export function typeOfTensor(one: ModelTensor): TensorType {
  return one instanceof Tensor ? one.type : tensorType('uint8', one.shape)
}

/** The types of tensors for a signature, whatever layout their strings have on the way. */
export function typesFor(parameters: readonly Parameter[], types: readonly TensorType[]): readonly TensorType[] {
  return types.map((type, i) => {
    const layout = parameters[i]?.stringLayout
    return layout === undefined ? type : stringType(layout, type.shape)
  })
}

/** Remembers the types that were checked last. Types are interned, so equal types are the same object. */
export function onceForEach(check: (types: readonly TensorType[]) => void): (types: readonly TensorType[]) => void {
  let last: readonly TensorType[] | undefined
  return (types) => {
    if (last?.length === types.length && last.every((type, i) => type === types[i])) return
    check(types)
    last = types
  }
}

/** Returns the function that checks the inputs and the outputs of a run. It remembers the types that it has checked last. */
export function resultCheck(
  signature: KernelSignature,
): (inputs: readonly ModelTensor[], results: readonly ModelTensor[]) => void {
  const count = signature.operands.length
  let last: readonly TensorType[] = []
  const isLast = (tensors: readonly ModelTensor[], from: number): boolean => {
    for (let i = 0; i < tensors.length; i++) if (typeOfTensor(tensors[i]!) !== last[from + i]) return false
    return true
  }
  return (inputs, results) => {
    if (last.length > 0 && isLast(inputs, 0) && isLast(results, count)) return
    const types = [...inputs, ...results].map(typeOfTensor)
    const operands = typesFor(signature.operands, types.slice(0, count))
    resolveCall(signature, { operands, attributes: {}, results: typesFor(signature.results, types.slice(count)) })
    last = types
  }
}

/** Copies tensors behind each other along the first axis. All have the same element type, and the same sizes behind this axis. */
export function joinTensors(parts: readonly ModelTensor[], allocator: NativeAllocator | undefined): ModelTensor {
  const [first] = parts as readonly [ModelTensor]
  const shape = [parts.reduce((sum, part) => sum + part.shape[0]!, 0), ...first.shape.slice(1)]
  const placed = allocator === undefined ? {} : { allocator }
  if (first instanceof StringTensor) {
    const elements = (parts as readonly StringTensor[]).flatMap(elementsOf)
    return StringTensor.from(elements, { layout: first.layout, shape, storage: 'packed', ...placed })
  }
  const joined = tensor(first.dtype, shape, undefined, placed)
  let at = joined.base
  for (const { block, base, type } of parts as readonly Tensor[]) {
    joined.block.bytes.set(block.bytes.subarray(base, base + type.byteSize), at)
    at += type.byteSize
  }
  return joined
}

/** The bytes of each string, without a copy. */
export const elementsOf = (strings: StringTensor): Uint8Array[] =>
  Array.from({ length: strings.length }, (_, i) => strings.bytes(i))

/** The rows from `start` to `end` along the first axis, without a copy. */
export function sliceRows(one: ModelTensor, start: number, end: number): ModelTensor {
  return one instanceof Tensor ? one.slice([start, end]) : one.slice(start, end)
}
