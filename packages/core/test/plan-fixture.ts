import type { CallPlan, ParameterPlan, Piece, StructShape } from '../src/native/call/call-plan.ts'
import { alignUp, WORDS } from '../src/native/call/frame-layout.ts'
import { VALUE_SIZES, type ValueType } from '../src/native/value-type.ts'

export function structOf(kinds: readonly ValueType[], most = 8, attribute = 1): StructShape {
  let size = 0
  const fields = kinds.map((kind) => {
    const offset = alignUp(size, Math.min(most, VALUE_SIZES[kind]))
    size = offset + VALUE_SIZES[kind]
    return { offset, kind }
  })
  const naturalAlignment = Math.max(1, ...kinds.map((kind) => Math.min(most, VALUE_SIZES[kind])))
  const byteAlignment = Math.max(naturalAlignment, attribute)
  return { byteSize: alignUp(size, byteAlignment), byteAlignment, naturalAlignment, fields }
}

export const packed = (...kinds: readonly ValueType[]): StructShape => structOf(kinds, 1)

/** A word by its place: `g1` is the second general register, `s8` the stack at 8 bytes, `R0` and `V0` are results. */
function placeOf(word: number): string {
  if (word >= WORDS.stack) return `s${(word - WORDS.stack) * 4}`
  if (word >= WORDS.vector) return `v${(word - WORDS.vector) / 2}`
  if (word >= WORDS.general) return `g${(word - WORDS.general) / 2}`
  if (word >= WORDS.vectorResults) return `V${(word - WORDS.vectorResults) / 2}`
  if (word >= WORDS.generalResults) return `R${(word - WORDS.generalResults) / 2}`
  return word === WORDS.extra ? 'x' : `word ${word}`
}

const ofPieces = (pieces: readonly Piece[]): string =>
  pieces.map(({ word, offset, byteSize }) => `${placeOf(word)}[${offset}+${byteSize}]`).join('/')

function ofParameter({ kind, word, byteOffset, byteSize, second, pieces }: ParameterPlan): string {
  if (kind === 'struct') return ofPieces(pieces)
  if (kind === 'indirect') return `&${placeOf(word)}`
  if (byteSize < 8) return `s${byteOffset - WORDS.stack * 4}:${byteSize}`
  return placeOf(word) + (second === -1 ? '' : `+${placeOf(second)}`)
}

/** The places of the arguments and the result as text, for example `g0 v0[0+8]/g1[8+8] -> R0`. */
export function placesOf({ parameters, result: { kind, word, pieces } }: CallPlan): string {
  const places = parameters.map(ofParameter)
  if (kind === 'struct') return [...places, '->', ofPieces(pieces)].join(' ')
  if (kind === 'memory') return [...places, '->', `&${placeOf(word)}`].join(' ')
  return (kind === 'void' ? places : [...places, '->', placeOf(word)]).join(' ')
}
