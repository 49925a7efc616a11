// Tensors of other libraries by their structures, which docs/tensor-protocol.md lists. This module runs in browsers, without the core.
import type { TypedArray } from '@tenon/core'
import { ArgumentError } from '@tenon/core/errors'
import { elementCountOf, isSize } from '../protocol/json-elements.ts'
import { datatypes } from './datatypes.ts'

/** The shape and the elements in row-major order that an object has. */
export interface InputElements {
  readonly shape: unknown
  readonly data: unknown
  /** The element type, if the object names one. */
  readonly dtype?: unknown
}

type Members = Readonly<Record<PropertyKey, unknown>>

const tensorSymbol = Symbol.for('dlpack.tensor')

/** Reads a tensor of another library, or `{ shape, data }`. The result was not checked. @throws {ArgumentError} for nulls and strides outside of the memory */
export function foreignInput(path: string, value: object): InputElements {
  const x = value as Members
  const call = (name: PropertyKey): unknown => Reflect.apply(x[name] as () => unknown, value, [])
  if (tensorSymbol in x) return offered(path, call(tensorSymbol) as Members)
  // Columns of nodejs-polars, and of apache-arrow.
  if ('nullCount' in x) {
    const isPolars = typeof x['nullCount'] === 'function'
    const nulls = isPolars ? call('nullCount') : x['nullCount']
    if (nulls !== 0) throw new ArgumentError(`${path} must have no nulls, got ${String(nulls)}`)
    const data = call(isPolars ? 'toTypedArray' : 'toArray') as TypedArray
    return { shape: [data.length], data }
  }
  const { shape, dtype, dims, data } = x
  if ('dataSync' in x) return { shape, data: call('dataSync'), dtype }
  if ('dims' in x) return { shape: dims, data, dtype: x['type'] }
  if ('stride' in x) return inOrder(path, data, shape, x['stride'], x['offset'])
  if ('shape' in x) return { shape, data }
  const { width, height, channels = 4 } = (x['info'] ?? x) as Members
  return { shape: [height, width, channels], data }
}

/** Reads memory that an object offers by the tensor protocol. */
function offered(path: string, { dtype, shape, strides, byteOffset = 0, buffer, validity }: Members): InputElements {
  const type = [...datatypes.values()].find((one) => one.dtype === dtype)
  if (type === undefined || validity !== undefined || !isSize((buffer as ArrayBuffer | undefined)?.byteLength)) {
    throw new ArgumentError(`${path} must offer numbers without nulls in a buffer, got ${String(dtype)}`)
  }
  const size = type.bits / 8
  const { byteLength } = buffer as ArrayBuffer
  const data = new type.array(buffer as ArrayBuffer, 0, Math.floor(byteLength / size))
  return { ...inOrder(path, data, shape, strides, (byteOffset as number) / size), dtype }
}

/** Copies elements with strides to their order. @param first the index of the first element */
function inOrder(path: string, data: unknown, shape: unknown, strides: unknown, first: unknown): InputElements {
  const isRowMajor = strides === undefined
  const sizes = shape as readonly number[]
  const steps = strides as readonly number[]
  const isRegular = Array.isArray(shape) && shape.every(isSize) && ArrayBuffer.isView(data) && isSize(first)
  if (!isRegular || !(isRowMajor || (Array.isArray(strides) && strides.length === sizes.length))) {
    throw new ArgumentError(`${path} must have sizes and steps for each axis, and an aligned first element`)
  }
  const count = elementCountOf(sizes)
  const elements = data as TypedArray
  if (isRowMajor) return { shape, data: elements.subarray(first, first + count) }
  const copy = new (elements.constructor as new (length: number) => TypedArray)(count)
  const index = sizes.map(() => 0)
  let at = first
  for (let i = 0; i < count; i++) {
    const element = elements[at]
    if (element === undefined) throw new ArgumentError(`${path} must lie inside its memory, got element ${at}`)
    copy[i] = element
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      at += steps[axis]!
      if (++index[axis]! < sizes[axis]!) break
      at -= steps[axis]! * sizes[axis]!
      index[axis] = 0
    }
  }
  return { shape, data: copy }
}
