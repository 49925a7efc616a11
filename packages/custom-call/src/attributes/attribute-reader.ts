import { ArgumentError } from '@tenon/core'
import { isPlainObject, wrongType } from '@tenon/core/internal'
import { Attribute, str } from './attribute.ts'
import { haveMemory, type AttributeDictionary } from './encode-attributes.ts'
import { snapshot } from './snapshot.ts'

/** Reads the attributes, or the opaque string, of the calls of one function. */
export interface AttributeReader {
  /**
   * Reads each attribute once, by the position of its name. A value that the caller could change is copied.
   *
   * @throws {ArgumentError} if `attributes` is not an object of attributes.
   */
  read(attributes: unknown): readonly unknown[]
  /** Returns what was read, as `prepare` takes it. */
  write(values: readonly unknown[]): unknown
}

const NONE: readonly unknown[] = Object.freeze([])

/** In the place of a name that a call does not have. Not `undefined`, which a caller may pass, and which encoding refuses. */
const ABSENT = Symbol('absent')

const MOST_NAMES = 4096

/**
 * Makes a reader, which learns the names from the calls. Calls of a function usually have the same names in the same order.
 *
 * @param label the attributes in messages. @param hint for a value that is not an object of attributes.
 */
export function attributeReader(label = 'attrs', hint?: string): AttributeReader {
  const names: string[] = []
  const copy = snapshot
  let latest: readonly unknown[] = NONE

  const place = (values: unknown[], expected: number, attributes: object, name: string, value: unknown): void => {
    let at = expected
    if (names[at] !== name) {
      if (!Object.hasOwn(attributes, name)) return
      at = names.indexOf(name)
      if (at === -1) at = addName(name)
      while (values.length < at) values.push(ABSENT)
    }
    values[at] = typeof value === 'object' && !(value instanceof Attribute) ? copy(value, name) : value
  }

  const addName = (name: string): number => {
    if (names.length < MOST_NAMES) return names.push(name) - 1
    throw new ArgumentError(`the calls of a function must have at most ${MOST_NAMES} names of attributes, got more`)
  }

  const check = (attributes: unknown): void => {
    if (!isPlainObject(attributes)) throw wrongType(label, 'an object of attributes', attributes, hint)
  }

  const read = (attributes: unknown): readonly unknown[] => {
    if (attributes === undefined) return NONE
    if (typeof attributes !== 'object' || attributes === null) check(attributes)
    const previous = latest
    let values: unknown[] | undefined
    let count = 0
    for (const name in attributes as AttributeDictionary) {
      const value: unknown = (attributes as AttributeDictionary)[name]
      const isEqual = count < previous.length && names[count] === name && Object.is(value, previous[count])
      if (values === undefined && !isEqual) {
        check(attributes)
        values = previous.slice(0, count)
      }
      if (values !== undefined) place(values, count, attributes as object, name, value)
      count++
    }
    // Attributes that equal those of the previous call need no check, which would take as long as everything else here.
    if (values === undefined && count > 0 && count === previous.length) return previous
    if (values === undefined) {
      check(attributes)
      values = previous.slice(0, count)
    }
    if (!haveMemory(values)) latest = values
    return values
  }

  const write = (values: readonly unknown[]): unknown =>
    Object.fromEntries(values.flatMap((value, i) => (value === ABSENT ? [] : [[names[i]!, value]])))

  return { read, write }
}

/** Reads the opaque string of a call in the place of attributes. */
export const opaqueReader: AttributeReader = {
  read: (opaque) => (opaque === undefined ? NONE : [opaque instanceof Uint8Array ? str(opaque) : opaque]),
  write: ([opaque]) => (opaque instanceof Attribute ? opaque.bytes : opaque),
}
