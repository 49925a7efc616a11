import { type DType, type DTypeInfo, type Element } from '@tenon/core'
import { elementCodec } from '@tenon/core/internal'

/** The largest number of digits after the point, as in NumPy. */
const PRECISION = 8

/** Formats elements with one width and aligned decimal points, as NumPy does. */
export function formatElements(values: readonly Element[], { name, kind, bits }: DTypeInfo): string[] {
  if (kind === 'complex') {
    const parts = values as readonly (readonly [number, number])[]
    const part = bits === 64 ? 'float32' : 'float64'
    const real = formatFloats(
      parts.map(([value]) => value),
      part,
    )
    const imaginary = formatFloats(
      parts.map(([, value]) => Math.abs(value)),
      part,
    )
    return real.map((text, index) => {
      const digits = imaginary[index]!.trim()
      const sign = parts[index]![1] < 0 || Object.is(parts[index]![1], -0) ? '-' : '+'
      return `${text}${sign}${digits}j${' '.repeat(imaginary[index]!.length - digits.length)}`
    })
  }
  if (kind === 'float') return formatFloats(values as readonly number[], name)
  return padded(values.map((value) => (typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value))))
}

const padded = (texts: readonly string[]): string[] => {
  const width = Math.max(0, ...texts.map((text) => text.length))
  return texts.map((text) => text.padStart(width))
}

function formatFloats(values: readonly number[], dtype: DType): string[] {
  const finite = values.filter((value) => Number.isFinite(value))
  const sizes = finite.filter((value) => value !== 0).map(Math.abs)
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)]
  // NumPy's rule for the use of exponents.
  const exponents = sizes.length > 0 && (high >= 1e8 || low < 1e-4 || high / low > 1000)
  const split = (value: number): readonly [mantissa: string, exponent: string] =>
    exponents ? withExponent(shortest(value, dtype)) : [withoutExponent(shortest(value, dtype)), '']
  const digits = Math.max(0, ...finite.map((value) => fractionOf(split(value)[0]).length))
  const texts = values.map((value) => {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'
    const [mantissa, exponent] = split(value)
    // Decimal points are aligned with zeros before an exponent, and with blanks otherwise.
    return mantissa + (exponents ? '0' : ' ').repeat(digits - fractionOf(mantissa).length) + exponent
  })
  return padded(texts)
}

const fractionOf = (text: string): string => text.slice(text.indexOf('.') + 1)

/** `1.5`, `e+03` */
function withExponent(value: number): [mantissa: string, exponent: string] {
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string]
  return [rounded(mantissa), `e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`]
}

function withoutExponent(value: number): string {
  return (Object.is(value, -0) ? '-' : '') + rounded(String(value))
}

function rounded(text: string): string {
  if (!text.includes('.')) return `${text}.`
  return fractionOf(text).length > PRECISION ? Number(text).toFixed(PRECISION).replace(/0+$/, '') : text
}

const bytes = new DataView(new ArrayBuffer(8))

/** The shortest decimal number that denotes the value in its own type: 0.1 for the float32 nearest to 0.1. */
function shortest(value: number, dtype: DType): number {
  if (dtype === 'float64' || value === 0) return value
  const codec = elementCodec(dtype)
  for (let precision = 1; precision < 17; precision += 1) {
    const candidate = Number(value.toPrecision(precision))
    codec.write(bytes, 0, candidate)
    if (codec.read(bytes, 0) === value) return candidate
  }
  return value
}
