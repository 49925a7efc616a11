import { ArgumentError } from '@tenon/core'
import { checkName, describe, didYouMean, suggest, wrongType } from '@tenon/core/internal'
import { AttributeError, PackedFuncTypeError, ValueError } from '../errors/error-kinds.ts'
import type { PackedFunc } from '../functions/packed-func.ts'
import { TypeIndex } from '../native/type-index.ts'
import {
  builtInClass,
  forgetWrappers,
  isBuiltInClass,
  NativeObject,
  provideWrappers,
  type Wrapper,
} from '../objects/native-object.ts'
import { ancestorsOf, classOf, entryOfClass, updateEntry } from './class-entry.ts'
import type { ObjectClass } from './class-types.ts'
import { listTypes, typeIndexOfKey } from './type-table.ts'

/** The classes that the program named with {@link registerClass}, by type index. */
const named = new Map<number, ObjectClass>()

provideWrappers(wrapperOf)

/**
 * Returns the class of a registered type, or the one that the program named with {@link registerClass}. Members that the type got
 * since the class was made are added.
 *
 * @throws {ValueError} if no type has the key. The hint names similar keys. @throws {PackedFuncTypeError} if values of the type are
 * not objects, such as those of `int`.
 * @example
 * objectClass('ffi.List') === NativeArray // true
 */
export function objectClass(key: string): ObjectClass {
  const index = objectIndex(key)
  updateEntry(index)
  return named.get(index) ?? classOf(index)
}

/**
 * Returns the classes of all types `prefix.Name`, by `Name`. Keys with further dots are left out.
 *
 * @throws {ValueError} if there are none. The hint names longer prefixes.
 * @example
 * const { List } = types('ffi')
 * List === NativeArray // true
 */
export function types(prefix: string): Record<string, ObjectClass> {
  const start = `${checkName(prefix, 'prefix')}.`
  const keys = listTypes()
  const found: Record<string, ObjectClass> = {}
  for (const key of keys) {
    const name = key.slice(start.length)
    if (!key.startsWith(start) || name === '' || name.includes('.') || typeIndexOfKey(key) < TypeIndex.Object) continue
    // Not an assignment, because of names such as `__proto__`.
    Object.defineProperty(found, name, {
      value: objectClass(key),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  if (Object.keys(found).length > 0) return found
  throw new ValueError(`no type is registered as '${prefix}.Name'`, { hint: prefixHint(prefix, keys) })
}

function prefixHint(prefix: string, keys: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const key of keys) {
    const other = key.slice(0, Math.max(0, key.lastIndexOf('.')))
    if (other !== '') counts.set(other, (counts.get(other) ?? 0) + 1)
  }
  const below = [...counts.keys()].filter((other) => other.startsWith(`${prefix}.`))
  const others = below.length > 0 ? below : suggest(prefix, counts.keys())
  if (others.length === 0) return 'Load the library that registers the types first, with Module.open(path).'
  return `Use ${others.map((other) => `'${other}' (${counts.get(other)})`).join(' or ')}.`
}

/**
 * Makes objects of a type instances of a class of the program from now on, and those of descendants that have no class of their
 * own. The class extends that of the type. Objects that native code returns get it without a call of its constructor, so its field
 * initializers do not run. The last class that was registered for a type counts.
 *
 * @returns the class.
 * @throws {ArgumentError} if the class does not extend the class of the type. @throws {ValueError} if no type has the key.
 * @example
 * class Items extends NativeArray {
 *   last() {
 *     return this.get(this.size - 1)
 *   }
 * }
 * registerClass('ffi.List', Items)
 * const items = getGlobal('ffi.List')(1, 2) as Items
 * items.last() // 2
 * registerClass('ffi.List', NativeArray)
 */
export function registerClass<C extends Pick<ObjectClass, 'prototype' | 'typeKey'>>(key: string, made: C): C {
  const index = objectIndex(key)
  const own = classOf(index)
  if (made !== (own as unknown) && !extendsClass(made, own)) {
    const received = describe(made)
    throw new ArgumentError(`the class for '${key}' must extend its class ${own.name}, got ${received}`, {
      hint: `Declare it as: class Name extends objectClass('${key}').`,
      details: { name: key, expected: `a class that extends ${own.name}`, received },
    })
  }
  if (made === (own as unknown)) named.delete(index)
  else named.set(index, made as C & ObjectClass)
  forgetWrappers()
  return made
}

/** Whether a class extends another one with its prototype and with itself, so that it also inherits `typeKey`. */
function extendsClass(made: unknown, own: ObjectClass): boolean {
  if (typeof made !== 'function' || !Object.prototype.isPrototypeOf.call(own, made)) return false
  const prototype: unknown = made.prototype
  return typeof prototype === 'object' && prototype !== null && prototype instanceof own
}

/** @throws {ValueError} as {@link typeIndexOfKey}. @throws {PackedFuncTypeError} if values of the type are not objects. */
function objectIndex(key: string): number {
  const index = typeIndexOfKey(key)
  if (index >= TypeIndex.Object) return index
  throw new PackedFuncTypeError('TypeError', `'${key}' must be a type of objects, got a type of plain values`, {
    details: { name: 'key', expected: 'a type of objects', received: key },
  })
}

/** The wrapper of a type of which no object was read yet. */
function wrapperOf(typeIndex: number): Wrapper {
  const ownClass = named.get(typeIndex) ?? builtInClass(typeIndex)
  const nearest =
    ownClass === undefined ? ancestorsOf(typeIndex).findLast((ancestor) => named.has(ancestor)) : undefined
  const made = (ownClass ?? (nearest === undefined ? classOf(typeIndex) : named.get(nearest)!)) as ObjectClass
  const base = baseOf(made)
  if (made === (base as unknown)) return base
  return wrapperFor(made.prototype, base)
}

/** The nearest class of this package. */
function baseOf(made: object): Wrapper {
  for (let at: object | null = made; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const entry = entryOfClass(at)
    if (entry !== undefined) return entry.base
    if (isBuiltInClass(at)) return at as Wrapper
  }
  return NativeObject
}

/** Makes objects with a prototype, without a call of the constructor. `Reflect.construct` would take three times as long. */
function wrapperFor(prototype: object, base: Wrapper): Wrapper {
  const Wrapped =
    base === NativeObject
      ? function (this: object, typeIndex: number, handle: number): object {
          return new NativeObject(typeIndex, handle, this)
        }
      : function (typeIndex: number, handle: number): object {
          return Object.setPrototypeOf(new base(typeIndex, handle), prototype) as object
        }
  Wrapped.prototype = prototype
  return Wrapped as unknown as Wrapper
}

/**
 * Returns a method of the type of a class, or of an ancestor, as a packed function: for asynchronous calls, `tryCall` and `typed`. An
 * instance method takes the object as its first value, and native code checks it.
 *
 * @param name the name that the library registers.
 * @throws {AttributeError} if there is no such method. The hint names similar ones. @throws {ArgumentError} if `type` is not a class.
 * @example
 * await methodOf(Index, 'search').async(index, 'query')
 */
export function methodOf(type: { readonly prototype: NativeObject }, name: string): PackedFunc {
  if (typeof type !== 'function') throw wrongType('type', 'a class', type)
  checkName(name, 'name')
  const known: string[] = []
  let key = 'NativeObject'
  for (let at: unknown = type; typeof at === 'function'; at = Object.getPrototypeOf(at)) {
    const entry = entryOfClass(at)
    if (entry === undefined) continue
    if (known.length === 0) key = entry.className
    const found = entry.methods.get(name)
    if (found !== undefined) return found
    known.push(...entry.methods.keys())
  }
  throw new AttributeError(`${key} has no method '${name}'`, { hint: didYouMean(name, known) })
}
