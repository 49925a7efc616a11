import { inArray, type Found } from '../found.ts'

/** A series of nodejs-polars. */
export interface PolarsSeries {
  readonly name: string
  nullCount(): number
  /** A copy of the numbers, because polars does not lend its memory. */
  toTypedArray(): unknown
  toArray(): unknown
}

export const isPolars = (value: object): boolean =>
  'toTypedArray' in value && 'nullCount' in value && typeof value.toTypedArray === 'function'

/** Reads a series. That of booleans or texts has no TypedArray, and is read value by value. @throws the error of polars */
export function readPolars(value: object): Found {
  const series = value as PolarsSeries
  const kind = 'a series of polars'
  const isOfObjects = ['Bool', 'Utf8', 'String', 'Categorical'].includes(typeOf(value))
  if (!isOfObjects) return inArray(kind, undefined, series.toTypedArray(), undefined)
  const values = series.toArray() as readonly unknown[]
  if (typeOf(value) !== 'Bool') return { kind, dtype: 'string', shape: undefined, texts: values }
  return inArray(
    kind,
    'bool',
    Uint8Array.from(values, (one) => (one === true ? 1 : 0)),
    undefined,
  )
}

function typeOf(value: object): string {
  const { dtype } = value as { readonly dtype?: { readonly variant?: unknown } | null }
  return String(dtype?.variant)
}
