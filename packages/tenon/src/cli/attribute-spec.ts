import { ArgumentError, type DType, type DTypeInfo } from '@tenon/core'
import { findDType } from '@tenon/core/internal'
import {
  array,
  f32,
  f64,
  pred,
  s16,
  s32,
  s64,
  s8,
  str,
  u16,
  u32,
  u64,
  u8,
  type Attribute,
  type TypeHelper,
} from '@tenon/custom-call'
import { UsageError } from './usage-error.ts'

const scalars = new Map<DType, TypeHelper<never>>(
  [pred, f32, f64, s8, s16, s32, s64, u8, u16, u32, u64].map((helper) => [findDType(helper.name)!.name, helper]),
)

const forms = "name=f32:1e-5, name=s64:3, name=pred:true, name=str:text or 'name=s32[]:1,2,3'"

/**
 * Parses `eps=f32:1e-5`, `axes=s32[]:0,1`, `exact=pred:true`, `mode=str:fast`.
 *
 * @throws {UsageError} if the text has another form. A number must have its type, because a kernel that expects an f32
 * does not accept an f64.
 */
export function parseAttribute(text: string): readonly [name: string, attribute: Attribute] {
  const match = /^([^=]+)=(.*)$/s.exec(text)
  if (match === null)
    throw new UsageError(`--attr must be name=type:value, got ${text || 'nothing'}`, `Write ${forms}.`)
  const [, name, value] = match as unknown as [string, string, string]
  try {
    return [name, parseValue(value, text)]
  } catch (error) {
    if (error instanceof ArgumentError) throw new UsageError(`--attr ${text}: ${error.sentence}`)
    throw error
  }
}

function parseValue(value: string, text: string): Attribute {
  if (value.startsWith('str:')) return str(value.slice('str:'.length))
  const typed = /^(\w+)(\[\])?:(.*)$/s.exec(value)
  if (typed === null) throw untyped(value, text)
  const [, type, brackets, literal] = typed as unknown as [string, string, string | undefined, string]
  const info = findDType(type)
  const scalar = info === undefined ? undefined : scalars.get(info.name)
  if (info === undefined || scalar === undefined) {
    throw new UsageError(`--attr ${text}: there is no attribute type ${type}`, `Write ${forms}.`)
  }
  if (brackets === undefined && literal.trim() === '') {
    throw new UsageError(`--attr ${text}: the value is missing`, `Write ${forms}.`)
  }
  const element = (item: string): never => parseElement(item.trim(), info, `--attr ${text}`) as never
  if (brackets === undefined) return scalar(element(literal))
  return array(info.name, literal.trim() === '' ? [] : literal.split(',').map(element))
}

function untyped(value: string, text: string): UsageError {
  const name = text.slice(0, text.indexOf('='))
  if (value !== '' && !Number.isNaN(Number(value))) {
    // A whole number is often the value of a floating-point attribute, such as temperature=1.
    const types = /^[+-]?\d+$/.test(value) ? ['f32', 's32', 's64'] : ['f32', 'f64']
    const typed = types.map((type) => `${name}=${type}:${value}`)
    return new UsageError(
      `--attr ${text}: a number must have its type`,
      `Write the type that the kernel expects: ${typed.slice(0, -1).join(', ')} or ${typed.at(-1)}.`,
    )
  }
  const hint = value === 'true' || value === 'false' ? `${name}=pred:${value}` : `${name}=str:${value}`
  return new UsageError(`--attr ${text}: the value must have its type`, `Write ${hint}, or one of the forms ${forms}.`)
}

/** @param place the beginning of messages. @throws {UsageError} if the text is not a value of the element type */
export function parseElement(item: string, { kind, bits }: DTypeInfo, place: string): number | bigint | boolean {
  if (kind === 'bool') {
    if (item === 'true' || item === 'false') return item === 'true'
    throw new UsageError(`${place}: a pred must be true or false, got ${item || 'nothing'}`)
  }
  if (kind === 'float') {
    const isInfinite = /^[+-]?inf(inity)?$/i.test(item)
    const value = isInfinite ? (item.startsWith('-') ? -Infinity : Infinity) : Number(item)
    if (!isInfinite && Math.abs(value) === Infinity)
      throw new UsageError(
        `${place}: the value must be between -1.8e308 and 1.8e308, got ${item}`,
        'Write inf or -inf for an infinity.',
      )
    if (item !== '' && (!Number.isNaN(value) || /^nan$/i.test(item))) return value
    throw new UsageError(`${place}: the value must be a number, got ${item || 'nothing'}`)
  }
  if (!/^[+-]?(\d+|0x[0-9a-f]+)$/i.test(item))
    throw new UsageError(`${place}: the value must be a whole number, got ${item || 'nothing'}`)
  const digits = BigInt(item.replace(/^[+-]/, ''))
  const value = item.startsWith('-') ? -digits : digits
  return bits === 64 ? value : Number(value)
}
