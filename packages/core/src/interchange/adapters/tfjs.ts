import { inArray, type Found } from '../found.ts'

/** A tensor of TensorFlow.js. */
export interface TfjsTensor {
  readonly dtype: string
  readonly shape: readonly number[]
  /** The elements in row-major order: those in the memory of the backend `cpu`, or a copy. */
  dataSync(): unknown
}

export const isTfjs = (value: object): boolean =>
  'dataSync' in value && typeof value.dataSync === 'function' && 'dtype' in value

/** Reads a tensor of TensorFlow.js. @throws the error of TensorFlow.js if the tensor was disposed */
export function readTfjs(value: object): Found {
  const tensor = value as TfjsTensor
  const { dtype, shape } = tensor
  const data = tensor.dataSync()
  const kind = 'a tensor of TensorFlow.js'
  return dtype === 'string' ? { kind, dtype, shape, texts: data } : inArray(kind, dtype, data, shape)
}
