import { AddressIndex } from './address-index.ts'
import { Attribute } from './constants.ts'
import type { DieAttributes } from './die-cursor.ts'
import { keepRecent, type DwarfFile } from './dwarf-file.ts'
import { namesOf, type FunctionNames } from './function-names.ts'
import { FunctionIndex } from './functions.ts'
import { pathOfFile, readLineHeader, type LineHeader } from './line-header.ts'
import { LineProgram } from './line-program.ts'
import { firstAddress } from './ranges.ts'
import { openSplitUnit, splitNameOf, type SplitUnit } from './split-unit.ts'
import { openUnit, type Unit } from './unit.ts'
import type { UnitHeader } from './units.ts'

/** The number of units that are kept decoded. */
const KEPT_UNITS = 8

/** A place in the source. */
export interface SourcePlace {
  readonly file: string | undefined
  readonly line: number | undefined
  readonly column: number | undefined
}

/** A function at an address, and the place of the instruction, or of the call that is inlined. */
export interface DwarfFrame extends SourcePlace, FunctionNames {
  readonly inlined: boolean
  /** The address at which a function that is not inlined begins. */
  readonly start: number | undefined
}

interface DecodedUnit {
  /** The unit with the functions, which is that of `.dwo` if there is one. */
  readonly unit: Unit
  /** Its file, if the unit is in one of its own. */
  readonly split: SplitUnit | undefined
  /** The name of that file, if it was not found. */
  readonly missing: string | undefined
  readonly functions: FunctionIndex
  readonly lineHeader: LineHeader | undefined
  readonly lines: LineProgram | undefined
}

/** Looks up functions and lines in the debug information of a file (DWARF 2 to 5). A unit is decoded when an address is in its code. */
export class Dwarf {
  readonly #file: DwarfFile
  /** The file with what several debug files share, which `dwz` makes. */
  readonly #supplement: DwarfFile | undefined
  readonly #directories: readonly string[]
  readonly #decoded = new Map<UnitHeader, DecodedUnit>()
  #index: AddressIndex | undefined
  #missing: string | undefined

  /** @param directories with files of units (`.dwo`) that are not where the compiler wrote them */
  constructor(file: DwarfFile, supplement: DwarfFile | undefined, directories: readonly string[]) {
    this.#file = file
    this.#supplement = supplement
    this.#directories = directories
  }

  /** The name of the file with the functions of the last lookup, if it was not found. Their lines are known without it. */
  get missing(): string | undefined {
    return this.#missing
  }

  /**
   * The functions at an address, innermost first. A unit without the function has one frame with the line alone.
   *
   * @throws {BinaryFormatError} if the debug information is damaged
   */
  locate(address: number): DwarfFrame[] {
    this.#file.budget.reset()
    this.#supplement?.budget.reset()
    this.#index ??= new AddressIndex(this.#file)
    this.#missing = undefined
    let best: DwarfFrame[] = []
    for (const header of this.#index.find(address)) {
      const decoded = this.#decode(header)
      this.#missing ??= decoded.missing
      const frames = this.#locateIn(decoded, address)
      if (frames.some(({ name }) => name !== undefined)) return frames
      if (best.length === 0) best = frames
    }
    return best
  }

  /** Closes the files of units. The other files are those of the owner. */
  close(): void {
    for (const { split } of this.#decoded.values()) split?.close()
    this.#decoded.clear()
  }

  #decode(header: UnitHeader): DecodedUnit {
    const decoded = this.#decoded.get(header) ?? decodeUnit(openUnit(header), this.#directories)
    if (decoded.split !== undefined) decoded.unit.header.file.budget.reset()
    keepRecent(this.#decoded, header, decoded, KEPT_UNITS)?.split?.close()
    return decoded
  }

  #locateIn({ unit, functions, lines, lineHeader }: DecodedUnit, address: number): DwarfFrame[] {
    const chain = functions.find(address)
    const row = lines?.find(address)
    const place = this.#place(lineHeader, row?.file, row?.line, row?.column)
    if (chain.length === 0) {
      return row === undefined
        ? []
        : [{ name: undefined, linkageName: undefined, ...place, inlined: false, start: undefined }]
    }
    return chain
      .map((attributes, depth) => {
        const inner = chain[depth + 1]
        return {
          ...namesOf(unit, attributes, this.#supplement),
          ...(inner === undefined ? place : this.#placeOfCall(lineHeader, inner)),
          inlined: depth > 0,
          start: depth > 0 ? undefined : firstAddress(unit, attributes),
        }
      })
      .toReversed()
  }

  #placeOfCall(header: LineHeader | undefined, inner: DieAttributes): SourcePlace {
    const number = (name: number): number | undefined => inner.get(name)?.value
    return this.#place(header, number(Attribute.callFile), number(Attribute.callLine), number(Attribute.callColumn))
  }

  #place(header: LineHeader | undefined, file?: number, line?: number, column?: number): SourcePlace {
    return {
      file: header === undefined || file === undefined ? undefined : pathOfFile(header, file, this.#supplement),
      line: numberOf(line),
      column: numberOf(column),
    }
  }
}

/** A number of a line or a column, or undefined if it is 0, which means that the compiler does not know, or is not possible. */
function numberOf(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 && value < 2 ** 32 ? value : undefined
}

function decodeUnit(unit: Unit, directories: readonly string[]): DecodedUnit {
  const at = unit.attributes.get(Attribute.stmtList)
  const lineHeader = at === undefined ? undefined : readLineHeader(unit, at.value)
  const lines = lineHeader && new LineProgram(lineHeader)
  const name = splitNameOf(unit)
  const split = name === undefined ? undefined : openSplitUnit(unit, name, directories)
  try {
    const whole = split?.unit ?? unit
    const missing = split === undefined ? name : undefined
    return { unit: whole, split, missing, functions: new FunctionIndex(whole), lineHeader, lines }
  } catch (error) {
    split?.close()
    throw error
  }
}
