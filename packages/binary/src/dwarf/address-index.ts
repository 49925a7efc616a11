import { BinaryFormatError } from '../binary-format-error.ts'
import { BudgetError } from './budget.ts'
import type { DwarfFile } from './dwarf-file.ts'
import { forEachRange } from './ranges.ts'
import { RangeTable } from './range-table.ts'
import { openUnit } from './unit.ts'
import { unitsOf, type UnitHeader } from './units.ts'

/** The units by the addresses of their code: from `.debug_aranges`, and from the first entry of each unit that is not listed there. */
export class AddressIndex {
  readonly #file: DwarfFile
  /** The numbers of the units. */
  readonly #ranges = new RangeTable()
  readonly #indexed = new Set<UnitHeader>()
  #isComplete = false

  constructor(file: DwarfFile) {
    this.#file = file
    if (file.has('.debug_aranges')) this.#readAranges()
  }

  /** The units that have code at an address. More than one has it only if the file is inconsistent. */
  find(address: number): UnitHeader[] {
    if (this.#ranges.find(address).length === 0 && !this.#isComplete) this.#readUnits()
    return this.#ranges.find(address).map((number) => unitsOf(this.#file)[number]!)
  }

  /** Reads the ranges of the other units. A damaged one is left out. */
  #readUnits(): void {
    this.#isComplete = true
    for (const [number, header] of unitsOf(this.#file).entries()) {
      if (this.#indexed.has(header) || header.isType) continue
      try {
        const unit = openUnit(header)
        forEachRange(unit, unit.attributes, (low, high) => this.#ranges.add(low, high, number))
      } catch (error) {
        if (!(error instanceof BinaryFormatError) || error instanceof BudgetError) throw error
      }
    }
  }

  /** Each set has a header with the offset of its unit, and pairs of an address and a size, which two zeros end (DWARF 5, section 6.1.2). */
  #readAranges(): void {
    const file = this.#file
    const units = unitsOf(file)
    const numbers = new Map(units.map(({ offset }, number) => [offset, number]))
    const sectionSize = file.sizeOf('.debug_aranges')
    for (let offset = 0; offset < sectionSize;) {
      const cursor = file.cursor('.debug_aranges', offset)
      const { byteSize, offsetSize } = cursor.initialLength()
      cursor.limit(byteSize)
      cursor.skip(2)
      const number = numbers.get(cursor.word(offsetSize))
      const addressSize = cursor.u8()
      if (addressSize !== 4 && addressSize !== 8) {
        throw new BinaryFormatError(`the index of addresses has addresses of ${addressSize} bytes`)
      }
      const pairSize = 2 * addressSize
      cursor.skip(1)
      // The pairs begin at a multiple of their size.
      const start = offset + Math.ceil((cursor.position - offset) / pairSize) * pairSize
      cursor.skip(Math.min(cursor.left, start - cursor.position))
      while (cursor.left >= pairSize) {
        file.budget.spend(1)
        const address = cursor.word(addressSize)
        const length = cursor.word(addressSize)
        if (address === 0 && length === 0) break
        if (number === undefined || !file.isCode(address)) continue
        this.#ranges.add(address, address + length, number)
        this.#indexed.add(units[number]!)
      }
      offset = cursor.end
    }
  }
}
