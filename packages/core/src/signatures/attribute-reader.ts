import { describe } from '../errors/describe.ts'
import { ArgumentError, ArgumentRangeError } from '../errors/kinds.ts'
import { isPlainObject } from '../errors/plain-object.ts'
import { didYouMean } from '@tenon/binary/internal'
import { isDetached } from '../memory/array-buffer.ts'
import { Segment } from '../memory/segment.ts'
import { dtypeInfo, typedArrayClass } from '../types/dtype.ts'
import { Tensor } from '../types/tensor.ts'
import { convertScalar, exampleOf, isScalarType, typeName, valueHint } from './attribute-type.ts'
import { canonicalName, elementTypeHint } from './element-names.ts'
import type { AttributeType, ScalarAttributeType } from './kernel-signature.ts'

/**
 * Reads a value that has a type of its own, for example an attribute that `f32(1)` of `@tenon/custom-call` made. Returns
 * undefined for other values. The type of a string of bytes is `bytes`, and of an array `f32[]`.
 */
export type ReadTyped = (value: unknown) => { readonly type: string; readonly value: unknown } | undefined

/** Checks and converts the attribute values of one call. */
export class AttributeReader {
  readonly #kernel: string
  readonly #readTyped: ReadTyped | undefined

  constructor(kernel: string, readTyped: ReadTyped | undefined) {
    this.#kernel = kernel
    this.#readTyped = readTyped
  }

  /** @param path the name of the attribute, and of the dictionaries in which it is. @throws {ArgumentError} */
  read(type: AttributeType, value: unknown, path: string): unknown {
    const typed = this.#readTyped?.(value)
    if (typed === undefined) return this.#readPlain(type, value, path)
    const abi = abiType(type)
    if (typed.type !== abi) throw this.#error(path, type, `an attribute of ${typed.type}`, plainHint(type))
    // The attribute of a pointer may hold memory, which its address does not.
    if (type === 'pointer' || type === 'dtype') return value
    return this.#readPlain(
      type,
      type === 'string' || typeof type === 'object' ? textOf(typed.value) : typed.value,
      path,
    )
  }

  wrong(path: string, type: AttributeType, value: unknown): ArgumentError {
    return this.#error(path, type, describe(value), valueHint(type))
  }

  #readPlain(type: AttributeType, value: unknown, path: string): unknown {
    if (typeof type === 'object') return this.#readEnum(type, value, path)
    if (isScalarType(type)) return this.#readScalar(type, value, path)
    switch (type) {
      case 'string':
        if (typeof value === 'string' && value.isWellFormed()) return value
        break
      case 'bytes':
        if (typeof value === 'string' && value.isWellFormed()) return new TextEncoder().encode(value)
        if (value instanceof Uint8Array) return this.#copy(type, Uint8Array, value, path)
        break
      case 'pointer':
        if (value instanceof Segment || value instanceof Tensor) return value
        if (typeof value === 'bigint') return this.#readScalar('s64', value, path)
        break
      case 'dtype':
        return this.#readElementType(value, path)
      case 'dictionary':
        if (isPlainObject(value)) return value
        break
      default:
        return this.#readArray(type, type.slice(0, -2) as ScalarAttributeType, value, path)
    }
    if (typeof value !== 'string' || (type !== 'string' && type !== 'bytes')) throw this.wrong(path, type, value)
    throw this.#error(path, type, 'a string with a lone surrogate', 'Pass well-formed text.')
  }

  #readScalar(type: ScalarAttributeType, value: unknown, path: string): unknown {
    if (type === 'c64' || type === 'c128') return this.#readComplex(type, value, path)
    const converted = convertScalar(type, value)
    if (converted !== undefined) return converted
    const isNumber =
      type !== 'pred' && (typeof value === 'number' || (typeof value === 'bigint' && !type.startsWith('f')))
    if (!isNumber) throw this.wrong(path, type, value)
    throw this.#rangeError(path, type, value)
  }

  #readComplex(type: 'c64' | 'c128', value: unknown, path: string): readonly [number, number] {
    const part = type === 'c64' ? 'f32' : 'f64'
    if (typeof value === 'number') return [this.#readScalar(part, value, path) as number, 0]
    if (!Array.isArray(value)) throw this.wrong(path, type, value)
    const parts = Array.from(value as unknown[])
    if (parts.length !== 2) throw this.wrong(path, type, value)
    const read = (index: number): number => this.#readScalar(part, parts[index], `${path}[${index}]`) as number
    return [read(0), read(1)]
  }

  #readEnum(type: Exclude<AttributeType, string>, value: unknown, path: string): string {
    if (!('enum' in type) || typeof value !== 'string') throw this.wrong(path, type, value)
    if (type.enum.includes(value)) return value
    throw this.#error(path, type, describe(value), didYouMean(value.slice(0, 255), type.enum) ?? valueHint(type))
  }

  #readElementType(value: unknown, path: string): string {
    const dtype = typeof value === 'string' ? canonicalName(value) : undefined
    if (dtype !== undefined) return dtype
    const hint = typeof value === 'string' ? elementTypeHint(value.slice(0, 255)) : valueHint('dtype')
    throw this.#error(path, 'dtype', describe(value), hint)
  }

  #readArray(type: AttributeType, element: ScalarAttributeType, value: unknown, path: string): unknown {
    const TypedArray = typedArrayClass(dtypeInfo(element).name)
    if (ArrayBuffer.isView(value)) {
      if (!(value instanceof TypedArray)) throw this.wrong(path, type, value)
      return this.#copy(type, TypedArray, value, path)
    }
    if (!Array.isArray(value)) throw this.wrong(path, type, value)
    const elements = Array.from(value as unknown[], (member, i) => this.#readScalar(element, member, `${path}[${i}]`))
    return new (TypedArray as unknown as new (from: unknown) => unknown)(elements)
  }

  #copy<View extends ArrayBufferView>(type: AttributeType, View: unknown, value: View, path: string): View {
    if (isDetached(value.buffer)) {
      const received = 'an array whose buffer was transferred'
      throw this.#error(path, type, received, 'Copy the values before the buffer is transferred.')
    }
    return new (View as new (from: View) => View)(value)
  }

  #error(path: string, type: AttributeType, received: string, hint: string | undefined): ArgumentError {
    const expected = typeName(type)
    const place = `${path} of ${this.#kernel}`
    return new ArgumentError(`${place} must be ${expected}, got ${received}`, {
      hint,
      details: { path: place, expected, received },
    })
  }

  #rangeError(path: string, type: AttributeType, value: unknown): ArgumentRangeError {
    const expected = typeName(type)
    const received = describe(value)
    const place = `${path} of ${this.#kernel}`
    return new ArgumentRangeError(`${place} must be ${expected}, got ${received}`, {
      hint: type === 'f32' ? 'Pass a number of at most 3.4e38 in magnitude.' : valueHint(type),
      details: { path: place, expected, received },
    })
  }
}

/** Returns the type of the attribute that a kernel receives. */
function abiType(type: AttributeType): string {
  if (typeof type === 'object' || type === 'string') return 'bytes'
  return type === 'pointer' ? 's64' : type === 'dtype' ? 's32' : type
}

function plainHint(type: AttributeType): string {
  return `Pass a plain value, for example ${exampleOf(type)}, or an attribute of ${abiType(type)}.`
}

/** Returns the text of bytes, or the value if it is not the UTF-8 of a text. */
function textOf(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value)
  } catch {
    return value
  }
}
