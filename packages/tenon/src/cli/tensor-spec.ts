import { tensorType, type TensorType } from '@tenon/core'
import { findDType, type ParameterLayout } from '@tenon/core/internal'
import { splitLayout } from './layout-spec.ts'
import { UsageError } from './usage-error.ts'

export interface ResultSpec {
  readonly type: TensorType
  /** The layout in the memory of the call; row-major if undefined. */
  readonly layout?: ParameterLayout | undefined
  /** The `.npy` file to write. Without one, the result is printed. */
  readonly path: string | undefined
  /** Whether the result is scratch memory of the call, which is neither printed nor written. */
  readonly isTemp: boolean
}

const hint = "Write for example 'f32[2,4]:y.npy', 'f32[2,4]' to print the result, or temp:f32[16] for scratch memory."

/** `f32[2,4]:y.npy`, `f32[2,4]` or, for a scalar, `f32[]` and `f32`; `f32[2,4]@cm:y.npy` column-major; `temp:f32[2,4]` for scratch. */
export function parseResultSpec(text: string): ResultSpec {
  if (text.startsWith('temp:')) {
    const { type, path } = parseResultSpec(text.slice('temp:'.length))
    if (path !== undefined) throw new UsageError(`--result ${text}: scratch memory cannot be written to a file`)
    return { type, path: undefined, isTemp: true }
  }
  const match = /^(\w+)(?:\[([^\]]*)\])?(@[^:]*)?(?::(.+))?$/s.exec(text)
  if (match === null)
    throw new UsageError(`--result must be type[size,size,...]:file.npy, got ${text || 'nothing'}`, hint)
  const [, dtype, sizes = '', order, path] = match
  const { layout } = splitLayout(order ?? '')
  if (order !== undefined && layout === undefined) {
    throw new UsageError(`--result ${text}: a layout must be @cm, or axes as in @1,0, got ${order}`)
  }
  if (findDType(dtype!) === undefined) {
    throw new UsageError(`--result ${text}: there is no element type ${dtype}`, 'Use f32, f64, s32, u8, pred, ...')
  }
  const shape = sizes.trim() === '' ? [] : sizes.split(',').map((size) => parseSize(size.trim(), text))
  return { type: tensorType(dtype!, shape), path, isTemp: false, ...(layout === undefined ? {} : { layout }) }
}

function parseSize(size: string, text: string): number {
  const value = Number(size)
  if (/^\d+$/.test(size)) {
    if (Number.isSafeInteger(value)) return value
    throw new UsageError(`--result ${text}: a size must be at most 2^53 - 1, got ${size}`)
  }
  throw new UsageError(`--result ${text}: a size must be a whole number, got ${size || 'nothing'}`, hint)
}
