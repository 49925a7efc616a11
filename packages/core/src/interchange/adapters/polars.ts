import { packBits } from '../bitmap.ts'
import { inArray, type Found } from '../found.ts'

/** A series of nodejs-polars. */
export interface PolarsSeries {
  readonly name: string
  nullCount(): number
  /** A copy of the numbers, because polars does not lend its memory. It throws if a number is null. */
  toTypedArray(): unknown
  toArray(): unknown
}

/** The members that only series with nulls need. */
interface Nullable extends PolarsSeries {
  isNotNull(): PolarsSeries
  fillNull(strategy: 'zero'): PolarsSeries
}

const TEXTS = new Set(['Utf8', 'String', 'Categorical'])

export const isPolars = (value: object): boolean =>
  'toTypedArray' in value && 'nullCount' in value && typeof value.toTypedArray === 'function'

/** Reads a series. That of booleans or texts has no TypedArray, and is read value by value. @throws the error of polars */
export function readPolars(value: object): Found {
  const series = value as Nullable & { readonly dtype?: { readonly variant?: unknown } | null }
  const kind = 'a series of polars'
  const variant = String(series.dtype?.variant)
  if (TEXTS.has(variant)) return { kind, dtype: 'string', shape: undefined, texts: series.toArray() }
  const hasNulls = series.nullCount() > 0
  const more = hasNulls ? { validity: packBits(series.isNotNull().toArray() as boolean[]) } : undefined
  if (variant !== 'Bool') {
    const numbers = hasNulls ? series.fillNull('zero') : series
    return { ...inArray(kind, undefined, numbers.toTypedArray(), undefined), more }
  }
  const bytes = Uint8Array.from(series.toArray() as unknown[], (one) => (one === true ? 1 : 0))
  return { ...inArray(kind, 'bool', bytes, undefined), more }
}
