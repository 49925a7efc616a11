import { takeError } from '../errors/crossing.ts'
import { PackedFuncTypeError } from '../errors/error-kinds.ts'
import { calleeOf, calls } from '../functions/call.ts'
import { PackedFunc } from '../functions/packed-func.ts'
import type { Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { NativeObject, typeKeyOf } from '../objects/native-object.ts'
import type { Argument } from '../values/argument.ts'
import { readTypeSchema } from '../typed/type-schema.ts'
import { attributeOf } from './attributes.ts'
import type { ClassEntry, Initializer } from './class-types.ts'
import { expandKwargs } from './kwargs.ts'
import { functionOfMethod } from './member-function.ts'
import { INIT, readType } from './type-table.ts'

/**
 * Makes an object for `new`. Its class can be a class of the program that extends the one of the type.
 *
 * @returns `self`, or another object if a class of this package has to make it.
 * @throws {PackedFuncTypeError} if the type has no constructor.
 */
export function constructObject(
  entry: ClassEntry,
  self: object,
  values: readonly Argument[],
  target: { readonly prototype: object },
): object {
  entry.init ??= findInitializer(entry)
  const { init, base, className } = entry
  if (init === undefined) throw noConstructor(entry)
  const passed = expandKwargs(values, className, init.takesNames)
  const { typeIndex, handle } = calls().all(
    init.callee,
    passed.length < init.padded ? withNone(passed, init) : passed,
    (stack, slot, resultIndex) => takeObject(entry, stack, slot, resultIndex),
  )
  if (base === NativeObject) return new NativeObject(typeIndex, handle, self)
  return Object.setPrototypeOf(new base(typeIndex, handle), target.prototype) as object
}

/** Passes None for optional parameters at the end. Native code refuses the values if a required one is missing. */
function withNone(values: readonly unknown[], { fewest, padded }: Initializer): readonly unknown[] {
  if (values.length < fewest) return values
  return [...values, ...Array.from({ length: padded - values.length }, () => null)]
}

/** Attributes are not inherited, and neither are constructors. */
function findInitializer({ index, key }: ClassEntry): Initializer | undefined {
  const method = readType(index).methods.find(({ name }) => name === INIT)
  if (method !== undefined)
    return { callee: calleeOf(functionOfMethod(key, method)), takesNames: false, ...countsOf(method.type) }
  const attribute = attributeOf(index, INIT)
  if (attribute instanceof PackedFunc) return { callee: calleeOf(attribute), takesNames: true, fewest: 0, padded: 0 }
  if (attribute instanceof NativeObject) attribute.close()
  return undefined
}

function countsOf(type: string | undefined): Pick<Initializer, 'fewest' | 'padded'> {
  const parameters = (type === undefined ? undefined : readTypeSchema(type)?.args)?.slice(1) ?? []
  const fewest = parameters.findLastIndex((parameter) => parameter.type !== 'Optional' && parameter.type !== 'None') + 1
  return { fewest, padded: fewest === parameters.length ? 0 : parameters.length }
}

/** Takes the reference of the object that a constructor has returned. */
function takeObject(
  entry: ClassEntry,
  stack: Stack,
  slot: number,
  typeIndex: number,
): { typeIndex: number; handle: number } {
  if (typeIndex === -1) throw takeError(stack, slot)
  if (typeIndex !== entry.index && !(typeIndex >= TypeIndex.Object && entry.has(typeIndex))) {
    stack.clear(slot)
    const sentence = `the constructor of ${entry.key} must return an object of this type, got ${typeKeyOf(typeIndex)}`
    throw new PackedFuncTypeError('TypeError', sentence, {
      details: { expected: entry.key, received: typeKeyOf(typeIndex) },
    })
  }
  const handle = stack.pointer(slot)
  stack.setPointer(slot, TypeIndex.None, 0)
  return { typeIndex, handle }
}

function noConstructor({ className, made, key }: ClassEntry): PackedFuncTypeError {
  const statics = Object.getOwnPropertyNames(made).filter(
    (name) => !['name', 'length', 'prototype', 'typeKey'].includes(name) && !name.includes('_'),
  )
  const hint =
    statics.length === 0
      ? 'Call a function of the library that returns one.'
      : `Call one of its static methods: ${statics.join(', ')}.`
  return new PackedFuncTypeError('TypeError', `${className} has no constructor`, {
    hint,
    details: { name: key, expected: 'a type with a constructor', received: key },
  })
}
