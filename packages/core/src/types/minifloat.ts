import type { DType } from './dtype.ts'

/**
 * The small floating-point formats as parameters: `value = (-1)^sign * 2^(exponent - bias) * (1 + mantissa / 2^m)`,
 * with subnormals below. The meaning of the largest codes differs:
 *
 * - `ieee`: infinities and NaNs, as in IEEE 754 (float16, bfloat16, float8_e5m2, float8_e4m3, float8_e3m4);
 * - `fn`: no infinity; NaN is all ones (float8_e4m3fn);
 * - `finite`: neither infinity nor NaN (float4_e2m1fn);
 * - `fnuz`: no infinity, no negative zero; NaN is the code of negative zero.
 *
 * Source: the OCP specifications of 8-bit and microscaling formats, and LLVM's APFloat semantics.
 */
interface MiniFloat {
  readonly exponentBits: number
  readonly mantissaBits: number
  readonly bias: number
  readonly specials: 'ieee' | 'fn' | 'finite' | 'fnuz'
  /** The code of NaN; 0 in a format without NaN. */
  readonly nan: number
  /** The code for values that are too large. */
  readonly largest: number
}

const format = (
  exponentBits: number,
  mantissaBits: number,
  specials: MiniFloat['specials'] = 'ieee',
  bias: number = 2 ** (exponentBits - 1) - 1,
): MiniFloat => {
  const signBit = 1 << (exponentBits + mantissaBits)
  const infinity = signBit - (1 << mantissaBits)
  const nan = { ieee: infinity | (1 << (mantissaBits - 1)), fn: signBit - 1, finite: 0, fnuz: signBit }[specials]
  const largest = { ieee: infinity, fn: signBit - 2, finite: signBit - 1, fnuz: signBit - 1 }[specials]
  return { exponentBits, mantissaBits, bias, specials, nan, largest }
}

type FormatName = Exclude<Extract<DType, `float${'4' | '8'}_${string}` | 'float16' | 'bfloat16'>, 'float8_e8m0fnu'>

const formats: Readonly<Record<FormatName, MiniFloat>> = {
  float16: format(5, 10),
  bfloat16: format(8, 7),
  float8_e3m4: format(3, 4),
  float8_e4m3: format(4, 3),
  float8_e5m2: format(5, 2),
  float8_e4m3fn: format(4, 3, 'fn'),
  float4_e2m1fn: format(2, 1, 'finite'),
  float8_e4m3b11fnuz: format(4, 3, 'fnuz', 11),
  float8_e4m3fnuz: format(4, 3, 'fnuz', 8),
  float8_e5m2fnuz: format(5, 2, 'fnuz', 16),
}

export type MiniFloatName = FormatName | 'float8_e8m0fnu'

export function isMiniFloat(name: string): name is MiniFloatName {
  return name in formats || name === 'float8_e8m0fnu'
}

export function decodeMiniFloat(name: MiniFloatName, code: number): number {
  // A power of two without a sign: 2^(code - 127). The code 255 is NaN.
  if (name === 'float8_e8m0fnu') return code === 255 ? NaN : 2 ** (code - 127)
  const { exponentBits, mantissaBits, bias, specials } = formats[name]
  const signBit = 1 << (exponentBits + mantissaBits)
  const sign = (code & signBit) === 0 ? 1 : -1
  const exponent = (code >> mantissaBits) & ((1 << exponentBits) - 1)
  const mantissa = code & ((1 << mantissaBits) - 1)
  if (specials === 'fnuz' && code === signBit) return NaN
  if (exponent === (1 << exponentBits) - 1) {
    if (specials === 'ieee') return mantissa === 0 ? sign * Infinity : NaN
    if (specials === 'fn' && mantissa === (1 << mantissaBits) - 1) return NaN
  }
  return exponent === 0
    ? sign * mantissa * 2 ** (1 - bias - mantissaBits)
    : sign * (1 + mantissa / 2 ** mantissaBits) * 2 ** (exponent - bias)
}

/**
 * The code of the number nearest to `value`, ties to even. A value that is too large becomes infinity, or the largest
 * number of a format without infinity. A NaN becomes 0 in a format without NaN.
 */
export function encodeMiniFloat(name: MiniFloatName, value: number): number {
  if (name === 'float8_e8m0fnu') return encodePowerOfTwo(value)
  const { exponentBits, mantissaBits, bias, specials, nan, largest } = formats[name]
  if (Number.isNaN(value)) return nan
  const sign = value < 0 || Object.is(value, -0) ? 1 << (exponentBits + mantissaBits) : 0
  const magnitude = Math.min(roundedCode(Math.abs(value), mantissaBits, bias), largest)
  // Without a negative zero, the sign of a zero is dropped.
  return magnitude === 0 && specials === 'fnuz' ? 0 : sign | magnitude
}

/**
 * The code of a magnitude, as if the format had no largest number. This works because codes of floats are ordered like
 * their values.
 */
function roundedCode(magnitude: number, mantissaBits: number, bias: number): number {
  if (magnitude === 0) return 0
  if (magnitude === Infinity) return Infinity
  const exponent = Math.max(exponentOf(magnitude), 1 - bias)
  const steps = roundHalfToEven(magnitude * 2 ** (mantissaBits - exponent))
  return (exponent + bias - 1) * 2 ** mantissaBits + steps
}

/** The largest e with 2^e <= magnitude. */
function exponentOf(magnitude: number): number {
  const guess = Math.floor(Math.log2(magnitude))
  if (2 ** guess > magnitude) return guess - 1
  return 2 ** (guess + 1) <= magnitude ? guess + 1 : guess
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

function encodePowerOfTwo(value: number): number {
  if (!(value >= 0) || value === Infinity) return 255
  if (value < 2 ** -127) return 0
  const exponent = exponentOf(value)
  const code = exponent + 127
  const ratio = value / 2 ** exponent
  return Math.min(ratio > 1.5 || (ratio === 1.5 && code % 2 === 1) ? code + 1 : code, 254)
}
