import type { PackedFunc } from '../functions/packed-func.ts'
import { builtInClass } from '../objects/native-object.ts'
import type { Argument } from '../values/argument.ts'
import type { ClassEntry, ObjectClass } from './class-types.ts'
import { constructObject } from './construct.ts'
import {
  functionOfMethod,
  makeMethod,
  makeProperty,
  makeStaticMethod,
  type Method,
  type Owner,
} from './member-function.ts'
import { classNameOf, nameMembers, type NamedMember } from './member-names.ts'
import { defineTexts } from './object-text.ts'
import { FieldFlag, memberCounts, readType, type MemberEntry, type TypeTable } from './type-table.ts'

const entries = new Map<number, ClassEntry>()

/** The entries by class. */
const byClass = new WeakMap<object, ClassEntry>()

export const entryOfClass = (type: object): ClassEntry | undefined => byClass.get(type)

const ancestors = new Map<number, readonly number[]>()

/** The indices of the ancestors of a type, the root first. They never change. */
export function ancestorsOf(typeIndex: number): readonly number[] {
  let found = ancestors.get(typeIndex)
  if (found === undefined) {
    found = readType(typeIndex).ancestors
    ancestors.set(typeIndex, found)
  }
  return found
}

/** The entry of a type, made at first use after those of its ancestors. Undefined if this package has a class for it. */
function entryOf(typeIndex: number): ClassEntry | undefined {
  if (builtInClass(typeIndex) !== undefined) return undefined
  return entries.get(typeIndex) ?? newEntry(readType(typeIndex))
}

/** The class that the type itself has, not one that a program named. */
export const classOf = (typeIndex: number): ObjectClass =>
  entryOf(typeIndex)?.made ?? (builtInClass(typeIndex) as unknown as ObjectClass)

/** Adds what a type and its ancestors have registered since they were read. Existing members stay as they are. */
export function updateEntry(typeIndex: number): void {
  for (let entry = entryOf(typeIndex); entry !== undefined; entry = entry.parent) {
    const { fields, methods } = memberCounts(entry.index)
    if (fields !== entry.counts.fields || methods !== entry.counts.methods) addMembers(entry, readType(entry.index))
  }
}

function newEntry(table: TypeTable): ClassEntry {
  const { index, key } = table
  const parentIndex = table.ancestors.at(-1)!
  const parent = entryOf(parentIndex)
  const base = parent?.base ?? builtInClass(parentIndex)!
  const made = makeClass(classNameOf(key), key, parent?.made ?? base, (self, values, target) =>
    constructObject(entry, self, values, target),
  )
  const entry: ClassEntry = {
    index,
    key,
    className: made.name,
    has: (typeIndex) => ancestorsOf(typeIndex).includes(index),
    made: made as unknown as ObjectClass,
    parent,
    base,
    shown: [],
    methods: new Map(),
    counts: { fields: 0, methods: 0 },
    init: undefined,
  }
  addMembers(entry, table)
  defineTexts(entry, made.prototype as object)
  entries.set(index, entry)
  byClass.set(made, entry)
  return entry
}

type Construct = (self: object, values: readonly Argument[], target: { readonly prototype: object }) => object

/** Makes a constructor as `class` does, but without a constructor of its parent that would run before `construct`. */
function makeClass(name: string, key: string, parent: { readonly prototype: object }, construct: Construct): Function {
  const made = function (this: object, ...values: Argument[]): object {
    if (new.target === undefined) throw new TypeError(`Class constructor ${name} cannot be invoked without 'new'`)
    return construct(this, values, new.target as unknown as { readonly prototype: object })
  }
  Object.setPrototypeOf(made, parent)
  Object.defineProperties(made, {
    name: { value: name, configurable: true },
    typeKey: { value: key },
    prototype: {
      value: Object.create(parent.prototype, { constructor: { value: made, configurable: true, writable: true } }),
      writable: false,
    },
  })
  return made
}

function addMembers(entry: ClassEntry, { fields, methods, counts }: TypeTable): void {
  const isStatic = ({ flags }: MemberEntry): boolean => (flags & FieldFlag.IsStatic) !== 0
  const isField = new Set(fields)
  entry.counts = counts
  for (const named of nameMembers([...fields, ...methods.filter((method) => !isStatic(method))], false)) {
    if (Object.hasOwn(entry.made.prototype, named.name)) continue
    if (isField.has(named.member)) addField(entry, named)
    else addMethod(entry, named, entry.made.prototype, makeMethod)
  }
  for (const named of nameMembers(methods.filter(isStatic), true))
    if (!Object.hasOwn(entry.made, named.name)) addMethod(entry, named, entry.made, makeStaticMethod)
}

function addField(entry: ClassEntry, { member, name, camelName }: NamedMember<MemberEntry>): void {
  const property = makeProperty(entry, member, camelName ?? name)
  Object.defineProperty(entry.made.prototype, name, property)
  if (camelName !== undefined && !Object.hasOwn(entry.made.prototype, camelName))
    Object.defineProperty(entry.made.prototype, camelName, property)
  if ((member.flags & FieldFlag.ReprOff) === 0) entry.shown.push({ name: member.name, read: property.get! })
}

function addMethod(
  entry: ClassEntry,
  { member, name, camelName }: NamedMember<MemberEntry>,
  target: object,
  make: (owner: Owner, member: MemberEntry, name: string, target: PackedFunc) => Method,
): void {
  const called = functionOfMethod(entry.key, member)
  if (!entry.methods.has(member.name)) entry.methods.set(member.name, called)
  const value = make(entry, member, camelName ?? name, called)
  for (const each of camelName === undefined ? [name] : [name, camelName])
    if (!Object.hasOwn(target, each)) Object.defineProperty(target, each, { value, configurable: true, writable: true })
}
