import { dtypeInfo, type AttributeParameter, type AttributeType } from '@tenon/core'
import { formatType } from '@tenon/core/internal'
import { pred, str } from '@tenon/custom-call'
import { parseAttribute, parseElement } from './attribute-spec.ts'
import { UsageError } from './usage-error.ts'

/**
 * Parses the text of an attribute whose type a signature states. Arrays are written `0,1`, complex numbers `1,-2`, and dictionaries
 * as JSON.
 *
 * @param flag the flag for messages: `--temperature`
 * @throws {UsageError} if the text is not a value of the type
 */
export function parseAttributeValue({ name, type }: AttributeParameter, text: string, flag: string): unknown {
  const place = `${flag} ${text}`
  if (typeof type === 'object' && 'notation' in type) return notated(text)
  if (typeof type === 'object') return 'enum' in type ? text : parseJson(text, place)
  if (type === 'dictionary') return typedValues(parseJson(text, place), name)
  if (type === 'string' || type === 'bytes' || type === 'dtype') return text
  if (type === 'pointer') {
    throw new UsageError(`${flag} cannot be passed on the command line, because ${name} is an address`)
  }
  const isComplex = type === 'c64' || type === 'c128'
  const info = dtypeInfo(isComplex ? (type === 'c64' ? 'f32' : 'f64') : type.replace('[]', ''))
  const element = (item: string): unknown => parseElement(item.trim(), info, place)
  if (isComplex) return text.includes(',') ? text.split(',').map(element) : element(text)
  if (!type.endsWith('[]')) return element(text)
  return text.trim() === '' ? [] : text.split(',').map(element)
}

/** Parses `temperature=2` and `temperature=f32:2` of `--attr`. */
export function parseNamedAttribute(parameter: AttributeParameter, value: string): unknown {
  const { name, type } = parameter
  const flag = `--attr ${name}=${value}`
  const [, prefix, rest = ''] = /^(str|pred|[fsuc]\d+(?:\[\])?):(.*)$/s.exec(value) ?? []
  const passed = passedType(type)
  if (prefix === undefined || (prefix !== passed && (passed === 'str' || passed === undefined))) {
    return parseAttributeValue(parameter, value, flag)
  }
  if (prefix === passed) return parseAttributeValue(parameter, rest, flag)
  throw new UsageError(`${flag}: ${name} must be ${formatType(type)}, got ${prefix}`, `Write --attr ${name}=${rest}.`)
}

/** The type in `--attr name=type:value`, without a signature. */
function passedType(type: AttributeType): string | undefined {
  if (typeof type === 'object') return 'enum' in type ? 'str' : undefined
  if (type === 'string' || type === 'bytes') return 'str'
  return type === 'dtype' || type === 'pointer' || type === 'dictionary' ? undefined : type
}

function parseJson(text: string, place: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${place}: the value must be JSON, such as '{"a":1}'`)
  }
}

/** Reads JSON such as `[2,3]` for an attribute in another notation, or else the text itself, such as the name of an element type. */
function notated(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Gives the values of a dictionary without members their types: true, "text" and "f32:1.5". */
function typedValues(value: unknown, path: string): unknown {
  if (typeof value === 'boolean') return pred(value)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, typedValues(one, `${path}.${name}`)]))
  }
  const isText = typeof value === 'string' && !/^\w+(?:\[\])?:/.test(value)
  return isText ? str(value) : parseAttribute(`${path}=${typeof value === 'string' ? value : JSON.stringify(value)}`)[1]
}
