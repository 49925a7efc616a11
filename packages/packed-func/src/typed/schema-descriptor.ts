import { NativeArray, NativeMap, NativeShape } from '../objects/containers.ts'
import type { Argument, Value } from '../values/argument.ts'
import { RValue } from '../values/wrappers.ts'
import { describeType, MISMATCH, type AnyDescriptor } from './descriptor.ts'
import type { TypeSchema } from './type-schema.ts'
import { t } from './types.ts'

type Converted<T> = T | typeof MISMATCH

const sameValue = (value: Value): Value => value

/** A type that accepts values for which `is` is true. Native code checks its results itself. */
const accepting = (name: string, is: (value: unknown) => boolean): AnyDescriptor =>
  describeType(name, (value) => (is(value) ? (value as Argument) : MISMATCH), sameValue)

const isText = (value: unknown): boolean => typeof value === 'string' || value instanceof Uint8Array

const simple: ReadonlyMap<string, AnyDescriptor> = new Map<string, AnyDescriptor>([
  ['Any', t.any],
  ['None', t.none],
  ['bool', t.bool],
  ['int', t.int],
  ['float', t.float],
  ['ffi.String', t.str],
  [
    'std::string',
    describeType('std::string', (value) => (isText(value) ? (value as string) : MISMATCH), t.str.fromNative),
  ],
  ['ffi.Bytes', t.bytes],
  ['DataType', t.dtype],
  ['Device', t.device],
  ['void*', t.pointer],
  ['ffi.Tensor', t.tensor],
  ['DLTensor*', t.tensor],
  ['ffi.Shape', accepting('Shape', (value) => value instanceof NativeShape || Array.isArray(value))],
  ['ffi.Module', t.module],
  ['ffi.Error', accepting('Error', (value) => value instanceof Error)],
  ['ffi.Function', t.func],
])

/** The type with which calls check and convert the values of a schema. Native code checks the classes of objects. */
export function descriptorOf(schema: TypeSchema): AnyDescriptor {
  const { type, args = [] } = schema
  const known = simple.get(type)
  if (known !== undefined) return known
  const parts = args.map(descriptorOf)
  const [first, second] = parts
  switch (type) {
    case 'Optional':
      return t.optional(first!)
    case 'ffi.Array':
      return t.array(first!)
    case 'ffi.Map':
      return t.map(first!, second!)
    case 'ffi.List':
      return shared(`List<${first!.name}>`, t.array(first!), NativeArray)
    case 'ffi.Dict':
      return shared(`Dict<${parts.map(({ name }) => name).join(', ')}>`, t.map(first!, second!), NativeMap)
    case 'Tuple':
      return tuple(parts)
    case 'Variant':
      return variant(parts)
    case 'Expected':
      return describeType(first!.name, variant([first!, simple.get('ffi.Error')!]).toNative, first!.fromNative)
    case 'ObjectRValueRef':
      return describeType(
        first!.name,
        (value) => (value instanceof RValue ? value : first!.toNative(value)),
        first!.fromNative,
      )
    default:
      return describeType(type, (value) => value as Argument, sameValue)
  }
}

/** A container that native code may change. It stays native as a result. */
function shared(name: string, copied: AnyDescriptor, made: abstract new (...values: never[]) => object): AnyDescriptor {
  const isNative = (value: unknown): boolean => value instanceof made
  return describeType(
    name,
    (value) => (isNative(value) ? (value as Argument) : copied.toNative(value)),
    (value) => (isNative(value) ? value : MISMATCH),
  )
}

function tuple(parts: readonly AnyDescriptor[]): AnyDescriptor {
  const convert = <From, To>(
    values: readonly From[],
    convertPart: (part: AnyDescriptor, value: From) => Converted<To>,
  ): Converted<To[]> => {
    if (values.length !== parts.length) return MISMATCH
    const converted = parts.map((part, i) => convertPart(part, values[i]!))
    return converted.includes(MISMATCH) ? MISMATCH : (converted as To[])
  }
  return describeType(
    `Tuple<${parts.map(({ name }) => name).join(', ')}>`,
    (value) =>
      Array.isArray(value) ? convert<unknown, Argument>(value, (part, item) => part.toNative(item)) : MISMATCH,
    (value) =>
      value instanceof NativeArray
        ? convert<Value, unknown>(value.toArray(), (part, item) => part.fromNative(item))
        : MISMATCH,
  )
}

function variant(parts: readonly AnyDescriptor[]): AnyDescriptor {
  const firstOf = <To>(convertBy: (part: AnyDescriptor) => Converted<To>): Converted<To> => {
    for (const part of parts) {
      const converted = convertBy(part)
      if (converted !== MISMATCH) return converted
    }
    return MISMATCH
  }
  return describeType(
    `Variant<${parts.map(({ name }) => name).join(', ')}>`,
    (value) => firstOf((part) => part.toNative(value)),
    (value) => firstOf((part) => part.fromNative(value)),
  )
}
