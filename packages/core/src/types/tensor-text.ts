import { TenonError } from '@tenon/binary'
import { dtypeInfo, type DType } from './dtype.ts'
import type { Element } from './element-types.ts'
import type { TensorType } from './tensor-type.ts'

const SHOWN = 16
/** The significant digits shown of a float that is narrower than a float64. Those formats have 2 to 7. */
const DIGITS = 6

/** Returns `[1, 2, 3, ... 997 more]` in row-major order, or the reason if reading fails. Never throws. */
export function valuesText({ dtype, elementCount }: TensorType, read: (count: number) => readonly Element[]): string {
  const shown = Math.min(elementCount, SHOWN)
  let values: readonly Element[]
  try {
    values = read(shown)
  } catch (error) {
    return `(${error instanceof TenonError ? error.sentence : String(error)})`
  }
  const texts = values.map((value) => elementText(value, dtype))
  if (elementCount > shown) texts.push(`... ${elementCount - shown} more`)
  return `[${texts.join(', ')}]`
}

function elementText(value: Element, dtype: DType): string {
  if (typeof value === 'number') return numberText(value, dtype)
  if (typeof value !== 'object') return String(value)
  const [real, imaginary] = value.map((part) => numberText(part, dtype)) as [string, string]
  return `${real}${imaginary.startsWith('-') ? '' : '+'}${imaginary}j`
}

function numberText(value: number, dtype: DType): string {
  const { kind, bits } = dtypeInfo(dtype)
  if (Object.is(value, -0)) return '-0'
  const exact = kind === 'int' || kind === 'uint' || bits / (kind === 'complex' ? 2 : 1) === 64
  return String(exact ? value : Number(value.toPrecision(DIGITS)))
}
