import { inArray, type Found } from '../found.ts'

/** An `ndarray` of scijs. */
export interface NdArray {
  readonly data: unknown
  readonly shape: readonly number[]
  /** The steps along each axis, in elements, which can be negative. */
  readonly stride: readonly number[]
  /** The element at index [0, ..., 0]. */
  readonly offset: number
}

export const isNdArray = (value: object): boolean => 'stride' in value && 'offset' in value && 'shape' in value

export function readNdArray(value: object): Found {
  const { data, shape, stride, offset } = value as NdArray
  return inArray('an ndarray', undefined, data, shape, stride, offset)
}
