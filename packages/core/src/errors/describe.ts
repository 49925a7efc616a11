import { describeCopy } from './other-copy.ts'

/** A short, exact description of a value for an error message. Never throws. */
export function describe(value: unknown): string {
  try {
    return text(value)
  } catch {
    return `${typeof value === 'function' ? 'a function' : 'an object'} that cannot be read`
  }
}

function text(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > 60
        ? `${JSON.stringify(value.slice(0, 57))}... (${value.length} characters)`
        : JSON.stringify(value)
    case 'bigint':
      return `${value}n`
    case 'function':
      return value.name === '' ? 'a function' : `the function ${value.name}`
    case 'symbol':
      return value.toString()
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'object':
      return value === null ? 'null' : describeObject(value)
    default:
      return String(value)
  }
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return `an array of length ${value.length}`
  if (ArrayBuffer.isView(value) && 'length' in value) return `${nameOf(value)}(${String(value.length)})`
  const name = nameOf(value)
  const words = name === 'Object' ? 'an object' : `an object of class ${name}`
  const copy = describeCopy(value)
  return copy === undefined ? words : `${words} ${copy}`
}

function nameOf(value: object): string {
  const constructor: unknown = (value as { constructor?: unknown }).constructor
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'Object'
}

export const hex = (address: number | bigint): string => `0x${address.toString(16)}`
