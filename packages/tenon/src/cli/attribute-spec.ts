import { findDType, type DType } from '@tenon/core'
import { UsageError } from './usage-error.ts'

/** An attribute given on the command line, not yet checked against its type's range. */
export type AttributeSpec =
  | { readonly kind: 'scalar'; readonly dtype: DType; readonly value: AttributeElement }
  | { readonly kind: 'array'; readonly dtype: DType; readonly values: readonly AttributeElement[] }
  | { readonly kind: 'string'; readonly value: string }

export type AttributeElement = number | bigint | boolean

const forms = 'name=f32:1e-5, name=s64:3, name=pred:true, name=str:text, name=s32[]:1,2,3'

/**
 * Reads `eps=f32:1e-5`, `axes=s32[]:0,1`, `exact=pred:true`, `mode=str:fast`.
 *
 * @throws {UsageError} saying what is expected; a number without a type is refused, since a kernel reads an f64 where an
 * f32 was meant as something else
 */
export function parseAttribute(text: string): readonly [name: string, attribute: AttributeSpec] {
  const match = /^([^=]+)=(.*)$/s.exec(text)
  if (match === null) throw new UsageError(`--attr ${text} can't be read`, `Write ${forms}.`)
  const [, name, value] = match as unknown as [string, string, string]
  return [name, parseValue(value, text)]
}

function parseValue(value: string, text: string): AttributeSpec {
  if (value.startsWith('str:')) return { kind: 'string', value: value.slice('str:'.length) }
  const typed = /^(\w+)(\[\])?:(.*)$/s.exec(value)
  if (typed === null) throw untyped(value, text)
  const [, type, brackets, literal] = typed as unknown as [string, string, string | undefined, string]
  const info = findDType(type)
  if (info === undefined || info.kind === 'complex') {
    throw new UsageError(`--attr ${text}: there is no attribute type ${type}`, `Write ${forms}.`)
  }
  const element = (item: string): AttributeElement => parseElement(item.trim(), info.kind, info.bits, text)
  if (brackets === undefined) return { kind: 'scalar', dtype: info.name, value: element(literal) }
  const items = literal.trim() === '' ? [] : literal.split(',')
  return { kind: 'array', dtype: info.name, values: items.map(element) }
}

function untyped(value: string, text: string): UsageError {
  const name = text.slice(0, text.indexOf('='))
  if (value !== '' && !Number.isNaN(Number(value))) {
    const whole = /^[+-]?\d+$/.test(value)
    const [narrow, wide] = whole ? ['s32', 's64'] : ['f32', 'f64']
    return new UsageError(
      `--attr ${text}: a number needs its type`,
      `Which one does the kernel take? ${name}=${narrow}:${value} or ${name}=${wide}:${value}.`,
    )
  }
  const hint = value === 'true' || value === 'false' ? `${name}=pred:${value}` : `${name}=str:${value}`
  return new UsageError(`--attr ${text}: the value needs its type`, `Perhaps ${hint}; the forms are ${forms}.`)
}

function parseElement(item: string, kind: string, bits: number, text: string): AttributeElement {
  if (kind === 'bool') {
    if (item === 'true' || item === 'false') return item === 'true'
    throw new UsageError(`--attr ${text}: a pred should be true or false, not ${item || 'nothing'}`)
  }
  if (kind === 'float') {
    const value = /^[+-]?inf(inity)?$/i.test(item) ? (item.startsWith('-') ? -Infinity : Infinity) : Number(item)
    if (item !== '' && (!Number.isNaN(value) || /^nan$/i.test(item))) return value
    throw new UsageError(`--attr ${text}: ${item || 'nothing'} is no number`)
  }
  if (!/^[+-]?(\d+|0x[0-9a-f]+)$/i.test(item))
    throw new UsageError(`--attr ${text}: ${item || 'nothing'} is no whole number`)
  const digits = BigInt(item.replace(/^[+-]/, ''))
  const value = item.startsWith('-') ? -digits : digits
  return bits === 64 ? value : Number(value)
}
