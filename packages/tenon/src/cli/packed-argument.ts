import { float, int, type Argument } from '@tenon/packed-func'
import { readNpy } from '../npy/npy-file.ts'
import { UsageError } from './usage-error.ts'

const forms = 'x.npy, int:3, float:1e-5, bool:true, str:text or none'

/** How values are written that are no files. */
const readers: Readonly<Record<string, (text: string) => Argument | undefined>> = {
  int: (text) => (/^[+-]?\d+$/.test(text) ? int(BigInt(text)) : undefined),
  float: (text) => {
    const value = /^[+-]?inf(inity)?$/i.test(text) ? Number(text.replace(/inf(inity)?/i, 'Infinity')) : Number(text)
    return text.trim() === '' || (Number.isNaN(value) && text !== 'nan') ? undefined : float(value)
  },
  bool: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  str: (text) => text,
}

/**
 * An argument of a packed function: a number, truth value or text with its type, `none`, or an array from a file.
 *
 * @throws {UsageError} if a value is none of its type. @throws what `readNpy` throws
 */
export function packedArgument(text: string): Argument {
  if (text === 'none') return null
  const [, type, value] = /^(int|float|bool|str):(.*)$/s.exec(text) ?? []
  if (type === undefined) return readNpy(text)
  const read = readers[type]!(value!)
  if (read === undefined) throw new UsageError(`--arg ${text}: ${value} is no ${type}`, `arguments are ${forms}.`)
  return read
}
