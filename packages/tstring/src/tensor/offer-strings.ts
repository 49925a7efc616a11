import type { StringDescription } from '@tenon/core'
import type { Image } from '../image/image.ts'
import { toArrow } from './arrow.ts'

/** Describes strings by the tensor protocol, in the form of Arrow. Data in the right order is not copied. @throws {ScopeClosedError} */
export function offerStrings(tensor: { readonly image: Image; readonly shape: readonly number[] }): StringDescription {
  const { image, shape } = tensor
  const { offsets, data } = toArrow(image, false, {})
  const copied = data.length > 0 && data.buffer !== image.data.block.view.buffer
  return { version: 1, dtype: 'string', shape, offsets, data, copied, owner: tensor }
}
