import { wrongType } from '../errors/check-arguments.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { makeStringsFrom, type StringTensorLike } from '../strings/string-tensor-like.ts'
import { refuseNull, validityOf } from './copy-found.ts'
import { readShape } from './found-layout.ts'
import { readList, type AdoptOptions, type FoundStrings } from './found.ts'

/** Keeps the owner of memory as long as the tensor over it. */
const owners = new WeakMap<StringTensorLike, object>()

/**
 * Returns a string tensor. The bytes of strings in the form of Arrow are not copied, and texts of JavaScript are encoded.
 *
 * @throws {ArgumentError} if an element is neither a text nor replaced. @throws as `StringTensor.ofArrowUtf8()`
 */
export function stringsOf(found: FoundStrings, place: string, { copy = false, nulls }: AdoptOptions): StringTensorLike {
  if (nulls !== undefined && nulls !== '') throw wrongType('nulls for strings', 'the empty string', nulls)
  const { kind, texts, offsets, data, owner } = found
  if (texts !== undefined) return ofTexts(found, place, nulls)
  const shape = readShape(found.shape, 0)
  const count = shape.reduce((product, size) => product * size, 1)
  const isValid = validityOf(found, count, { kind, place, nulls, call: REPLACE })
  const { validity, validityOffset } = isValid === undefined ? NO_VALIDITY : found
  const tensor = makeStringsFrom({ offsets, data, shape, length: count, validity, validityOffset, isCopied: copy })
  if (typeof owner === 'object' && owner !== null) owners.set(tensor, owner)
  return tensor
}

const REPLACE = "from(x, { nulls: '' })"

const NO_VALIDITY = { validity: undefined, validityOffset: undefined }

function ofTexts({ kind, texts, shape }: FoundStrings, place: string, nulls: unknown): StringTensorLike {
  const values = readList(texts, `the texts of ${place}`, Infinity)
  values.forEach((value, i) => {
    if (value !== null && value !== undefined) return
    if (nulls === undefined) refuseNull(i, kind, place, REPLACE)
    values[i] = nulls
  })
  const sizes = readShape(shape, values.length)
  if (sizes.reduce((product, size) => product * size, 1) !== values.length) {
    throw new ArgumentError(
      `${place}, ${kind}, must have the elements of its shape [${sizes.join(', ')}], got ${values.length}`,
    )
  }
  return makeStringsFrom({ texts: values, shape: sizes, isCopied: true })
}
