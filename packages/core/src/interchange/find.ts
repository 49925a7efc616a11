import { isArrow, readArrow, type ArrowData, type ArrowVector } from './adapters/arrow.ts'
import { isDims, readDims, type DimsTensor, type OrtTensor } from './adapters/dims.ts'
import { isImage, readImage, type ImagePixels, type SharpPixels } from './adapters/image.ts'
import { isNdArray, readNdArray, type NdArray } from './adapters/ndarray.ts'
import { isPolars, readPolars, type PolarsSeries } from './adapters/polars.ts'
import { isTfjs, readTfjs, type TfjsTensor } from './adapters/tfjs.ts'
import type { DType } from '../types/dtype.ts'
import type { ValuesOf } from '../types/tensor-arrays.ts'
import type { Tensor } from '../types/tensor.ts'
import type { OfferedTensor } from './protocol.ts'
import { arrayFacts, inArray, type Found } from './found.ts'
import { isOffered, readOffered } from './read-offered.ts'

/** A tensor of another library, by its structure. */
export type ForeignTensor =
  | OrtTensor
  | DimsTensor
  | TfjsTensor
  | ArrowVector
  | ArrowData
  | NdArray
  | PolarsSeries
  | ImagePixels
  | SharpPixels

/** A tensor, or an object whose memory becomes one. */
export type TensorLike<D extends DType = DType> = Tensor<D> | OfferedTensor<D> | ValuesOf<D> | ForeignTensor

const adapters: readonly (readonly [is: (value: object) => boolean, read: (value: object) => Found])[] = [
  [isNdArray, readNdArray],
  [isTfjs, readTfjs],
  [isArrow, readArrow],
  [isPolars, readPolars],
  [isImage, readImage],
]

/** Whether a value has one of the known structures. Its memory was not looked at. */
export const isForeign = (value: object): boolean =>
  arrayFacts(value) !== undefined || isOffered(value) || isDims(value) || adapters.some(([is]) => is(value))

/** Returns the memory of a tensor of another library, or undefined if the value has none of the known structures. */
export function findTensor(value: object): Found | undefined {
  if (ArrayBuffer.isView(value)) {
    return arrayFacts(value) === undefined ? undefined : inArray('a TypedArray', undefined, value, undefined)
  }
  if (isOffered(value)) return readOffered(value)
  if (isDims(value)) return readDims(value)
  for (let i = 0; i < adapters.length; i++) {
    const [is, read] = adapters[i]!
    if (is(value)) return read(value)
  }
  return undefined
}
