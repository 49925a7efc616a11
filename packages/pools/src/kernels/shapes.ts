import { refuse, type KernelInput, type KernelOperand } from './kernel.ts'

/** The shape of two shapes broadcast against each other from their last axes. */
export function broadcastShape(operation: string, a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, axis) => {
    const [m, n] = [a[a.length - rank + axis] ?? 1, b[b.length - rank + axis] ?? 1]
    if (m !== n && m !== 1 && n !== 1) {
      throw refuse(operation, `must get shapes that broadcast, got [${a.join(', ')}] and [${b.join(', ')}]`)
    }
    return m === 1 ? n : m
  })
}

export const FLOATS: readonly string[] = ['TENSOR_FLOAT32', 'TENSOR_FLOAT16']
export const QUANT8: readonly string[] = ['TENSOR_QUANT8_ASYMM', 'TENSOR_QUANT8_ASYMM_SIGNED']
/** What most operations compute with. */
export const REALS: readonly string[] = [...FLOATS, ...QUANT8]

export const isFloat = ({ type }: KernelOperand): boolean => FLOATS.includes(type)

/** Checks that a type is one of several. */
export function checkType({ type }: KernelOperand, allowed: readonly string[], operation: string, what: string): void {
  if (!allowed.includes(type)) throw refuse(operation, `must get ${what} of type ${allowed.join(' or ')}, got ${type}`)
}

/** Checks the number of inputs. */
export function checkInputs(inputs: readonly KernelInput[], counts: readonly number[], operation: string): void {
  if (!counts.includes(inputs.length))
    throw refuse(operation, `must get ${counts.join(' or ')} inputs, got ${inputs.length}`)
}

/** The value of a scalar input. */
export function scalarOf(input: KernelInput, type: string, operation: string, what: string): number {
  checkType(input, [type], operation, what)
  return input.numbers()[0]!
}

/** The fused activation: NNAPI's FuseCode, 0 to 3. */
export function activationOf(input: KernelInput, operation: string): number {
  const code = scalarOf(input, 'INT32', operation, 'an activation')
  if (code < 0 || code > 3) throw refuse(operation, `must get an activation from 0 to 3, got ${code}`)
  return code
}

/** An axis of a tensor, negative ones counted from the end. */
export function axisOf(axis: number, rank: number, operation: string): number {
  const wrapped = axis < 0 ? axis + rank : axis
  if (wrapped < 0 || wrapped >= rank)
    throw refuse(operation, `must get an axis from ${-rank} to ${rank - 1}, got ${axis}`)
  return wrapped
}

/** Checks a rank. */
export function checkRank(
  { dimensions }: KernelOperand,
  least: number,
  most: number,
  operation: string,
  what: string,
): void {
  if (dimensions.length < least || dimensions.length > most) {
    throw refuse(
      operation,
      `must get ${what} of rank ${least === most ? least : `${least} to ${most}`}, got [${dimensions.join(', ')}]`,
    )
  }
}

/** Checks how many numbers a list has, before they are read: it may be as long as memory goes. */
export function checkLength(
  { dimensions: [length] }: KernelOperand,
  least: number,
  most: number,
  operation: string,
  what: string,
): void {
  if (!(length! >= least && length! <= most)) {
    throw refuse(
      operation,
      `must get ${what} of ${least === most ? least : `${least} to ${most}`} numbers, got ${length}`,
    )
  }
}

/** Checks that two operands have one type, scale and zero point. */
export function checkSameType(a: KernelOperand, b: KernelOperand, operation: string): void {
  if (a.type !== b.type || a.scale !== b.scale || a.zeroPoint !== b.zeroPoint) {
    throw refuse(operation, `must have operands of one type, scale and zero point, got ${a.type} and ${b.type}`)
  }
}

/** How a window moves over an image, along one axis. */
export interface Windowing {
  readonly before: number
  readonly size: number
}

/** Padding of one axis: NNAPI's scheme, or how many elements before and after. */
export type Padding = { readonly scheme: number } | { readonly before: number; readonly after: number }

/** The most places that the library of operations counts to. */
const INT32_MAXIMUM = 2 ** 31 - 1

/**
 * Padding before and places of a window of `window` elements, dilation included; implicit schemes are 1 (same) and 2 (valid),
 * with NNAPI's numbers.
 */
export function windowing(
  operation: string,
  input: number,
  window: number,
  stride: number,
  padding: Padding,
): Windowing {
  if (!(stride >= 1 && window >= 1 && window <= INT32_MAXIMUM))
    throw refuse(operation, `must get strides, dilations and windows from 1 to 2^31 - 1, got ${stride} and ${window}`)
  if ('scheme' in padding) {
    if (padding.scheme !== 1 && padding.scheme !== 2)
      throw refuse(operation, `must get padding scheme 1 or 2, got ${padding.scheme}`)
    const places = padding.scheme === 1 ? Math.ceil(input / stride) : Math.ceil((input - window + 1) / stride)
    if (places < 1) throw refuse(operation, `must get a window that fits, got ${window} over ${input}`)
    const total = padding.scheme === 1 ? Math.max((places - 1) * stride + window - input, 0) : 0
    return { before: Math.floor(total / 2), size: places }
  }
  const { before, after } = padding
  if (before < 0 || after < 0) throw refuse(operation, `must get padding from 0 up, got ${before} and ${after}`)
  const size = Math.floor((input + before + after - window) / stride) + 1
  if (size < 1 || size > INT32_MAXIMUM)
    throw refuse(operation, `must get a window that fits, got ${window} over ${input}`)
  return { before, size }
}
