import { BinaryFormatError } from '../binary-format-error.ts'
import type { DataCursor } from '../debug-info/data-cursor.ts'
import type { Abbreviation, AbbreviationTable } from './abbreviations.ts'
import { Attribute, Form } from './constants.ts'
import { readForm, type FormValue } from './forms.ts'
import type { UnitHeader } from './units.ts'

/** The attributes of an entry, by number. */
export type DieAttributes = ReadonlyMap<number, FormValue>

/** Moves from one debugging information entry (DIE) of a unit to the next one, children first. */
export class DieCursor {
  /** The offset of the current entry in `.debug_info`. */
  offset = 0
  readonly #unit: UnitHeader
  readonly #cursor: DataCursor
  readonly #table: AbbreviationTable
  #current: Abbreviation | undefined
  #isRead = true

  constructor(unit: UnitHeader, offset: number) {
    this.#unit = unit
    this.#cursor = unit.file.cursor('.debug_info', offset, unit.end)
    this.#table = unit.file.abbreviations(unit.abbreviationsAt)
  }

  /** Whether the current entry has children, which follow it and end with an entry of tag 0. */
  get hasChildren(): boolean {
    return this.#current?.hasChildren === true
  }

  /** Moves to the next entry. Returns its tag, 0 at the end of a list of children, or undefined at the end of the unit. */
  next(): number | undefined {
    if (!this.#isRead) this.#skipAttributes()
    if (this.#cursor.left === 0) return undefined
    this.offset = this.#cursor.position
    const code = this.#cursor.uleb()
    this.#current = code === 0 ? undefined : this.#table.find(code)
    this.#isRead = code === 0
    if (code === 0) return 0
    if (this.#current === undefined) {
      throw new BinaryFormatError(`the entry at offset ${this.offset} of .debug_info has the unknown code ${code}`)
    }
    return this.#current.tag
  }

  /** Reads the attributes of the current entry once. */
  attributes(): DieAttributes {
    const cursor = this.#cursor
    const values = new Map<number, FormValue>()
    const specifications = this.#start()
    for (let index = 0; index < specifications.length; index += 3) {
      let form = specifications[index + 1]!
      while (form === Form.indirect) form = cursor.uleb()
      const value = readForm(cursor, form, specifications[index + 2]!, this.#unit)
      values.set(specifications[index]!, { form, value })
    }
    return values
  }

  /** Moves behind the children of the current entry. */
  skipChildren(): void {
    if (!this.hasChildren) return
    const sibling = this.#isRead ? undefined : this.#skipAttributes()
    if (sibling !== undefined && sibling > this.#cursor.position && sibling <= this.#unit.end) {
      this.#cursor.position = sibling
      return
    }
    for (let depth = 1; depth > 0;) {
      const tag = this.next()
      if (tag === undefined) return
      if (tag === 0) depth -= 1
      else if (this.hasChildren) depth += 1
    }
  }

  /** Returns the offset of the next sibling, if the entry has it. */
  #skipAttributes(): number | undefined {
    const cursor = this.#cursor
    let sibling: number | undefined
    const specifications = this.#start()
    for (let index = 0; index < specifications.length; index += 3) {
      let form = specifications[index + 1]!
      while (form === Form.indirect) form = cursor.uleb()
      const value = readForm(cursor, form, specifications[index + 2]!, this.#unit)
      if (specifications[index] === Attribute.sibling && form >= Form.ref1 && form <= Form.refUdata) {
        sibling = this.#unit.offset + value
      }
    }
    return sibling
  }

  #start(): readonly number[] {
    const specifications = this.#current?.attributes ?? []
    this.#isRead = true
    this.#unit.file.budget.spend(1 + specifications.length)
    return specifications
  }
}
