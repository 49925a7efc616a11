import { BinaryFormatError } from '../binary-format-error.ts'
import type { DataCursor } from '../debug-info/data-cursor.ts'
import type { Budget } from './budget.ts'
import { Form } from './constants.ts'

/** The tag and the attributes that entries with one code have. */
export interface Abbreviation {
  readonly tag: number
  readonly hasChildren: boolean
  /** For each attribute its number, its form, and the value if the form is `DW_FORM_implicit_const`. */
  readonly attributes: readonly number[]
}

/** The most attributes of a table. Those of large programs have some ten thousand. */
const MAX_ATTRIBUTES = 200_000

/** A table of `.debug_abbrev`, which is read as far as its codes are looked up, because the first entry of a unit needs the first code alone. */
export class AbbreviationTable {
  readonly #cursor: DataCursor
  readonly #budget: Budget
  readonly #byCode = new Map<number, Abbreviation>()
  #isComplete = false
  #attributesLeft = MAX_ATTRIBUTES

  constructor(cursor: DataCursor, budget: Budget) {
    this.#cursor = cursor
    this.#budget = budget
  }

  find(code: number): Abbreviation | undefined {
    while (!this.#isComplete && !this.#byCode.has(code)) this.#readNext()
    return this.#byCode.get(code)
  }

  #readNext(): void {
    const cursor = this.#cursor
    const code = cursor.uleb()
    if (code === 0) {
      this.#isComplete = true
      return
    }
    const tag = cursor.uleb()
    const hasChildren = cursor.u8() !== 0
    const attributes: number[] = []
    while (true) {
      this.#budget.spend(1)
      const attribute = cursor.uleb()
      const form = cursor.uleb()
      const implicit = form === Form.implicitConst ? cursor.sleb() : 0
      if (attribute === 0 && form === 0) break
      attributes.push(attribute, form, implicit)
      if (--this.#attributesLeft < 0) {
        throw new BinaryFormatError(`a table of abbreviations has more than ${MAX_ATTRIBUTES} attributes`)
      }
    }
    if (!this.#byCode.has(code)) this.#byCode.set(code, { tag, hasChildren, attributes })
  }
}
