import { ArgumentError } from '@tenon/core'
import { isPlainObject, isRevoked, wrongType } from '@tenon/core/internal'
import { Attribute, str } from './attribute.ts'
import type { AttributeDictionary } from './encode-attributes.ts'
import { areKeepable, snapshot } from './snapshot.ts'

/** Reads the attributes, or the opaque string, of the calls of one function. */
export interface CallReader {
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

/** Reads the attributes of calls, and learns the names from them. Calls of a function usually have the same names in the same order. */
export class CallAttributes implements CallReader {
  readonly #label: string
  readonly #hint: string | undefined
  readonly #refuse: ((value: unknown) => void) | undefined
  readonly #names: string[] = []
  /** The values of the last call. */
  #latest: readonly unknown[] = NONE

  /**
   * @param label the attributes in messages. @param hint for a value that is not an object of attributes.
   * @param refuse throws another error for such a value.
   */
  constructor(label = 'attrs', hint?: string, refuse?: (value: unknown) => void) {
    this.#label = label
    this.#hint = hint
    this.#refuse = refuse
  }

  read(attributes: unknown): readonly unknown[] {
    if (attributes === undefined) return NONE
    if (typeof attributes !== 'object') this.#check(attributes)
    try {
      return this.#read(attributes)
    } catch (error) {
      if (isRevoked(attributes)) this.#check(attributes)
      throw error
    }
  }

  #read(attributes: unknown): readonly unknown[] {
    const names = this.#names
    // A getter can call the same function, which replaces the values of the last call.
    const latest = this.#latest
    const { length } = latest
    let count = 0
    for (const name in attributes as AttributeDictionary) {
      const value: unknown = (attributes as AttributeDictionary)[name]
      if (count === length || names[count] !== name || !isIdentical(value, latest[count])) {
        return this.#readOthers(attributes as AttributeDictionary, latest, count, name, value)
      }
      count++
    }
    // Attributes that equal those of the previous call need no check, which would take as long as everything else here.
    return count > 0 && count === length ? latest : this.#learn(this.#others(attributes, latest, count))
  }

  /** Reads attributes of which the first ones are those of the previous call, and the next one was read. */
  #readOthers(
    attributes: AttributeDictionary,
    latest: readonly unknown[],
    known: number,
    next: string,
    value: unknown,
  ): readonly unknown[] {
    const values = this.#others(attributes, latest, known)
    const read = new Set([...this.#names.slice(0, known), next])
    let count = known
    this.#place(values, count++, attributes, next, value)
    for (const name in attributes) {
      if (!read.has(name)) this.#place(values, count++, attributes, name, attributes[name])
    }
    return this.#learn(values)
  }

  write(values: readonly unknown[]): unknown {
    return Object.fromEntries(values.flatMap((value, i) => (value === ABSENT ? [] : [[this.#names[i]!, value]])))
  }

  #check(attributes: unknown): void {
    if (isPlainObject(attributes)) return
    this.#refuse?.(attributes)
    throw wrongType(this.#label, 'an object of attributes', attributes, this.#hint)
  }

  /** Starts a list of values, of which the first ones are those of the previous call. */
  #others(attributes: unknown, latest: readonly unknown[], count: number): unknown[] {
    this.#check(attributes)
    return latest.slice(0, count)
  }

  #place(values: unknown[], expected: number, attributes: object, name: string, value: unknown): void {
    let at = expected
    if (this.#names[at] !== name) {
      if (!Object.hasOwn(attributes, name)) return
      at = this.#names.indexOf(name)
      if (at === -1) at = this.#addName(name)
      while (values.length < at) values.push(ABSENT)
    }
    values[at] = typeof value === 'object' ? copyOf(value, name) : value
  }

  #addName(name: string): number {
    if (this.#names.length < MOST_NAMES) return this.#names.push(name) - 1
    throw new ArgumentError(`the calls of a function must have at most ${MOST_NAMES} names of attributes, got more`)
  }

  #learn(values: readonly unknown[]): readonly unknown[] {
    if (areKeepable(values)) this.#latest = values
    return values
  }
}

function copyOf(value: object | null, name: string): unknown {
  if (isRevoked(value)) throw wrongType(`attribute ${name}`, 'a value that can be read', value)
  return value instanceof Attribute ? value : snapshot(value, name)
}

/** Whether a value has the bits of another one. The compiler calls `Object.is`, and `===` for values of several types, as functions. */
function isIdentical(value: unknown, previous: unknown): boolean {
  if (typeof value !== 'number') return value === previous
  return value === previous && (value !== 0 || 1 / value === 1 / (previous as number))
}

/** Reads the opaque string of a call in the place of attributes. */
export const opaqueReader: CallReader = {
  read: (opaque) => (opaque === undefined ? NONE : [opaque instanceof Uint8Array ? str(opaque) : opaque]),
  write: ([opaque]) => (opaque instanceof Attribute ? opaque.bytes : opaque),
}
