import { wrongType } from '../../errors/check-arguments.ts'
import { inArray, readList, type Found, type FoundNumbers, type FoundStrings } from '../found.ts'

/** A `Vector` of apache-arrow. */
export type ArrowVector = Pick<ArrowData, 'type' | 'length'> & { readonly data: readonly ArrowData[] }

/** A `Data` of apache-arrow. */
export interface ArrowData {
  readonly type: { readonly typeId: number; readonly precision?: number }
  readonly offset: number
  readonly length: number
  readonly nullCount: number
  readonly values: unknown
  readonly valueOffsets: unknown
  readonly nullBitmap: unknown
}

const [INT, FLOAT, UTF8, BOOL, LARGE_UTF8] = [2, 3, 5, 6, 20]
const kind = 'a column of Arrow'

export const isArrow = (value: object): boolean =>
  'type' in value && 'length' in value && ('valueOffsets' in value || ('data' in value && 'numChildren' in value))

/** Reads a vector, whose chunks are joined only by a copy, or one chunk. @throws {ArgumentError} if its type has no tensor */
export function readArrow(value: object): Found {
  if ('valueOffsets' in value) return readData(value as ArrowData)
  const chunks = readList((value as ArrowVector).data, `the data of ${kind}`).map((one) => readData(one as ArrowData))
  return chunks.length === 1 ? chunks[0]! : { kind, chunks }
}

function readData(column: ArrowData): FoundNumbers | FoundStrings {
  const { type, offset, length, nullCount, values: data } = column
  const { typeId, precision } = Object(type) as ArrowData['type']
  const more = nullCount > 0 ? { validity: column.nullBitmap, validityOffset: offset } : undefined
  if (typeId === UTF8 || typeId === LARGE_UTF8)
    return { kind, dtype: 'string', shape: [length], texts: undefined, offsets: column.valueOffsets, data, ...more }
  if (typeId !== INT && typeId !== FLOAT && typeId !== BOOL)
    throw wrongType(`the type of ${kind}`, 'numbers, booleans or texts', `${type}`)
  const dtype = typeId === BOOL ? 'bits' : typeId === FLOAT && precision === 0 ? 'float16' : undefined
  // Arrow has already cut the values of a slice, except bits.
  return { ...inArray(kind, dtype, data, [length], undefined, typeId === BOOL ? offset : 0), isWhole: false, more }
}
