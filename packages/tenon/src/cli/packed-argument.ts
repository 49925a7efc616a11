import { float, int, type Argument } from '@tenon/packed-func'
import { readOperand } from './layout-spec.ts'
import { UsageError } from './usage-error.ts'

const parsers: Readonly<Record<string, (text: string) => Argument | undefined>> = {
  int: (text) => (/^[+-]?\d+$/.test(text) ? int(BigInt(text)) : undefined),
  float: (text) => {
    const value = /^[+-]?inf(inity)?$/i.test(text) ? Number(text.replace(/inf(inity)?/i, 'Infinity')) : Number(text)
    return text.trim() === '' || (Number.isNaN(value) && text !== 'nan') ? undefined : float(value)
  },
  bool: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  str: (text) => text,
}

/**
 * Parses an argument of a packed function: a number, a boolean or text with its type, `none`, or the path of an array.
 *
 * @throws {UsageError} if the value does not have its type
 * @throws the errors of `readNpy`
 */
export function packedArgument(text: string): Argument {
  if (text === 'none') return null
  const [, type, value] = /^(int|float|bool|str):(.*)$/s.exec(text) ?? []
  if (type === undefined) return readOperand(text, undefined)
  const argument = parsers[type]!(value!)
  if (argument !== undefined) return argument
  throw new UsageError(
    `--arg ${text}: the value must be of type ${type}, got ${value || 'nothing'}`,
    'Write x.npy, int:3, float:1e-5, bool:true, str:text or none.',
  )
}
