import type { InspectOptions } from 'node:util'
import { inspect, inspectCustom } from '@tenon/core/internal'
import { packedFunc } from '../functions/closure.ts'
import { PackedFunc } from '../functions/packed-func.ts'
import { NativeArray, NativeMap } from '../objects/containers.ts'
import { cellOf, inBrackets, type NativeObject } from '../objects/native-object.ts'
import type { Value } from '../values/argument.ts'
import { attributeOf } from './attributes.ts'
import type { ClassEntry, ShownField } from './class-types.ts'

/** The addresses of the objects whose texts are being made, so that cycles end. */
const inProgress = new Set<number>()

/** Runs `make` unless the text of the object is being made, and then returns `cycle`. */
function once<Text>(object: NativeObject, cycle: Text, make: () => Text): Text {
  const { handle } = cellOf(object)
  if (inProgress.has(handle)) return cycle
  inProgress.add(handle)
  try {
    return make()
  } finally {
    inProgress.delete(handle)
  }
}

/** The fields that texts show, those of ancestors first. */
const shownFields = (entry: ClassEntry): readonly ShownField[] =>
  entry.parent === undefined ? entry.shown : [...shownFields(entry.parent), ...entry.shown]

/** The text of an error, which may be anything that a program can throw. */
function failure(error: unknown): string {
  try {
    const { sentence, message } = error as { readonly sentence?: unknown; readonly message?: unknown }
    return `<error: ${String(sentence ?? message ?? error)}>`
  } catch {
    return '<error>'
  }
}

/** The functions of {@link defineTexts}, which are not those of libraries. */
const ownTexts = new WeakSet<object>()

/** Defines how objects of a class print. A `toString` that the library of the type, or of an ancestor, registers comes first. */
export function defineTexts(entry: ClassEntry, prototype: object): void {
  const define = (name: PropertyKey, value: object): void => {
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true })
  }
  define(
    inspectCustom,
    function inspectFields(this: NativeObject, depth: number | null, options: InspectOptions): string {
      return inspectObject(this, entry, depth, options)
    },
  )
  const inherited = entry.parent?.made.prototype.toString
  if (Object.hasOwn(prototype, 'toString') || (inherited !== undefined && !ownTexts.has(inherited))) return
  const text = function toString(this: NativeObject): string {
    return textOfObject(this, entry)
  }
  ownTexts.add(text)
  define('toString', text)
}

/** The text of an object: that of the library's `__ffi_repr__`, or `key(field=value, ...)`. */
function textOfObject(object: NativeObject, entry: ClassEntry): string {
  const { handle, typeIndex } = cellOf(object)
  if (handle === 0) return inBrackets(object)
  return once(object, '...', () => {
    const repr = attributeOf(typeIndex, '__ffi_repr__')
    if (repr instanceof PackedFunc) return String(repr(object, textFunction()))
    const fields = shownFields(entry).map(({ name, read }) => `${name}=${textOfField(object, read)}`)
    return `${entry.key}(${fields.join(', ')})`
  })
}

let givenText: PackedFunc | undefined

/** The function by which an `__ffi_repr__` asks for the texts of other values. */
const textFunction = (): PackedFunc => (givenText ??= packedFunc((value: Value) => textOf(value)))

function textOfField(object: NativeObject, read: ShownField['read']): string {
  try {
    return textOf(read.call(object))
  } catch (error) {
    return failure(error)
  }
}

/** The text of a value inside of another one. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof NativeArray) return once(value, '...', () => textOf(value.toArray()))
  if (value instanceof NativeMap) return once(value, '...', () => textOf(value.toMap()))
  if (Array.isArray(value)) return `[${value.map((item) => textOf(item)).join(', ')}]`
  if (value instanceof Map)
    return `{${Array.from(value as Map<unknown, unknown>, ([key, item]) => `${textOf(key)}: ${textOf(item)}`).join(', ')}}`
  return String(value)
}

/** A text that `inspect` prints as it is. */
const printed = (text: string): object => ({ [inspectCustom]: () => text })

/** The object as `console.log` prints it: `Name { field: value }`. */
function inspectObject(object: NativeObject, entry: ClassEntry, depth: number | null, options: InspectOptions): string {
  const name = nameOf(object, entry)
  if (cellOf(object).handle === 0) return `${name} { closed }`
  if (depth !== null && depth < 0) return `[${name}]`
  try {
    return once(object, '[Circular]', () => {
      const shown = {}
      for (const { name: field, read } of shownFields(entry)) {
        const value = shownValue(object, read)
        Object.defineProperty(shown, field, { value, enumerable: true, configurable: true, writable: true })
      }
      // The fields take the place of the object, so they are at the same depth.
      return `${name} ${inspect(shown, { ...options, depth })}`
    })
  } catch (error) {
    // The objects are nested too deeply for the stack.
    return `${name} { ${failure(error)} }`
  }
}

function shownValue(object: NativeObject, read: ShownField['read']): unknown {
  try {
    return read.call(object)
  } catch (error) {
    return printed(failure(error))
  }
}

/** The name of the object's class, which can be one of the program. */
function nameOf(object: NativeObject, { className }: ClassEntry): string {
  const made: unknown = object.constructor
  return typeof made === 'function' && made.name !== '' ? made.name : className
}
