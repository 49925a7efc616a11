import { findDType, tensorType, type TensorType } from '@tenon/core'
import { UsageError } from './usage-error.ts'

/** A result asked for on the command line. */
export interface ResultSpec {
  readonly type: TensorType
  /** The `.npy` file it goes to; printed without one. */
  readonly path: string | undefined
  /** Scratch of the call: neither printed nor written. */
  readonly isTemp: boolean
}

const form =
  "type[size,size,...]:file.npy, such as 'f32[2,4]:y.npy'; without a file it is printed; temp:f32[16] is scratch"

/**
 * Reads `f32[2,4]:y.npy`, `f32[2,4]` or, for a scalar, `f32[]` and `f32`; and `temp:f32[2,4]` for scratch.
 *
 * @throws {UsageError} saying what is expected
 */
export function parseResultSpec(text: string): ResultSpec {
  if (text.startsWith('temp:')) {
    const { type, path } = parseResultSpec(text.slice('temp:'.length))
    if (path !== undefined) throw new UsageError(`--result ${text}: scratch goes to no file`)
    return { type, path: undefined, isTemp: true }
  }
  const match = /^(\w+)(?:\[([^\]]*)\])?(?::(.+))?$/s.exec(text)
  if (match === null) throw new UsageError(`--result ${text} can't be read`, `write ${form}.`)
  const [, dtype, sizes = '', path] = match
  if (findDType(dtype!) === undefined) {
    throw new UsageError(
      `--result ${text}: there is no element type ${dtype}`,
      'known are f32, f64, s32, u8, pred, ...',
    )
  }
  const shape = sizes.trim() === '' ? [] : sizes.split(',').map((size) => parseSize(size.trim(), text))
  return { type: tensorType(dtype!, shape), path, isTemp: false }
}

function parseSize(size: string, text: string): number {
  const value = Number(size)
  if (/^\d+$/.test(size) && Number.isSafeInteger(value)) return value
  throw new UsageError(`--result ${text}: the size ${size || '(nothing)'} should be a whole number`, `write ${form}.`)
}
