import { inArray, readList, type Found, type FoundNumbers, type FoundStrings } from '../found.ts'

/** A `Vector` of apache-arrow. */
export interface ArrowVector {
  readonly type: { readonly typeId: number }
  readonly data: readonly ArrowData[]
  readonly length: number
}

/** A `Data` of apache-arrow. */
export interface ArrowData {
  readonly type: { readonly typeId: number }
  readonly offset: number
  readonly length: number
  readonly nullCount: number
  readonly values: unknown
  readonly valueOffsets: unknown
  readonly nullBitmap: unknown
}

const HALF = 0
const [INT, FLOAT, UTF8, BOOL, LARGE_UTF8] = [2, 3, 5, 6, 20]
const kind = 'a column of Arrow'

export const isArrow = (value: object): boolean =>
  'type' in value && 'length' in value && ('valueOffsets' in value || ('data' in value && 'numChildren' in value))

/** Reads a vector, whose chunks are joined only by a copy, or one chunk. */
export function readArrow(value: object): Found {
  if ('valueOffsets' in value) return readData(value as ArrowData)
  const chunks = readList((value as ArrowVector).data, `the data of ${kind}`).map((one) => readData(one as ArrowData))
  return chunks.length === 1 ? chunks[0]! : { kind, chunks }
}

function readData({
  type,
  offset,
  length,
  nullCount,
  values,
  valueOffsets,
  nullBitmap,
}: ArrowData): FoundNumbers | FoundStrings {
  const { typeId, precision } = type as { readonly typeId: number; readonly precision?: number }
  const validity = nullCount > 0 ? { validity: nullBitmap, validityOffset: offset } : undefined
  if (typeId === UTF8 || typeId === LARGE_UTF8)
    return {
      kind,
      dtype: 'string',
      shape: [length],
      texts: undefined,
      offsets: valueOffsets,
      data: values,
      ...validity,
    }
  // Arrow has already cut the values of a slice, except bits.
  if (typeId === BOOL)
    return { ...inArray(kind, 'bits', values, [length], undefined, offset), isWhole: false, more: validity }
  const isNumber = typeId === INT || typeId === FLOAT
  const dtype = typeId === FLOAT && precision === HALF ? 'float16' : isNumber ? undefined : String(type)
  return { ...inArray(kind, dtype, values, [length]), isWhole: false, more: validity }
}
