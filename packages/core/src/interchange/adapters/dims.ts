import { inArray, type Found } from '../found.ts'

/** A tensor of onnxruntime in memory of the CPU. */
export interface OrtTensor {
  readonly type: string
  readonly dims: readonly number[]
  /** Reading it throws for a tensor on another device. */
  readonly data: unknown
  readonly location: string
}

/** A TypedArray with the sizes of a tensor. */
export interface DimsTensor {
  readonly data: ArrayBufferView
  readonly dims: readonly number[]
}

export const isDims = (value: object): boolean => 'dims' in value && 'data' in value

/** Reads a tensor of onnxruntime, or `{ data, dims }`. @throws the error of onnxruntime if the data is not on the CPU */
export function readDims(value: object): Found {
  const { type, dims, data } = value as Partial<OrtTensor>
  if (type === undefined) return inArray('{ data, dims }', undefined, data, dims)
  const kind = 'a tensor of onnxruntime'
  if (type === 'string') return { kind, dtype: 'string', shape: dims, texts: data }
  if (type !== 'int4' && type !== 'uint4') return inArray(kind, type, data, dims)
  return { ...inArray(kind, type, data, dims), more: { packing: 'packed' } }
}
