import { BinaryFormatError } from '../binary-format-error.ts'
import type { LineHeader } from './line-header.ts'

/** A row of the table of lines. Numbers that are 0 are unknown. */
export interface LineRow {
  readonly address: number
  readonly file: number
  readonly line: number
  readonly column: number
}

/** Opcodes of the program (DWARF 5, section 6.2.5). Those of the standard are smaller than the first special opcode. */
const Lns = {
  extended: 0,
  copy: 1,
  advancePc: 2,
  advanceLine: 3,
  setFile: 4,
  setColumn: 5,
  constAddPc: 8,
  fixedAdvancePc: 9,
} as const
const Lne = { endSequence: 1, setAddress: 2 } as const

/** The code between two addresses, and the offset of its rows in the program. */
interface Sequence {
  readonly low: number
  readonly high: number
  readonly offset: number
}

/**
 * The table of lines of a unit, which the program of `.debug_line` makes. The whole program runs once to find its sequences, and for each lookup
 * the part of one sequence runs, so no table is kept.
 */
export class LineProgram {
  readonly #header: LineHeader
  readonly #sequences: readonly Sequence[]

  constructor(header: LineHeader) {
    this.#header = header
    this.#sequences = readSequences(header)
  }

  /** The row of the instruction at an address. */
  find(address: number): LineRow | undefined {
    for (const { low, high, offset } of this.#sequences) {
      if (address < low || address >= high) continue
      const row = findInSequence(this.#header, address, offset)
      if (row !== undefined) return row
    }
    return undefined
  }
}

function findInSequence(header: LineHeader, address: number, offset: number): LineRow | undefined {
  let found: LineRow | undefined
  let last: LineRow | undefined
  run(header, offset, (row, isEnd) => {
    if (last !== undefined && last.address <= address && address < row.address) {
      found = last
      return false
    }
    last = { ...row }
    return !isEnd
  })
  return found
}

function readSequences(header: LineHeader): Sequence[] {
  const { addressFile } = header.unit
  const sequences: Sequence[] = []
  let offset = header.programAt
  let low = Infinity
  run(header, offset, ({ address }, isEnd, next) => {
    low = Math.min(low, address)
    if (!isEnd) return true
    if (low < address && addressFile.isCode(low)) sequences.push({ low, high: address, offset })
    offset = next
    low = Infinity
    return true
  })
  return sequences
}

/** Runs the program from the start of a sequence, until `visit` returns false or the program ends. The row changes after the call. */
function run(header: LineHeader, offset: number, visit: (row: LineRow, isEnd: boolean, next: number) => boolean): void {
  const { unit, end, minLength, maxOperations, lineBase, lineRange, operandCounts } = header
  const { file } = unit.header
  const cursor = file.cursor('.debug_line', offset, end)
  const opcodeBase = operandCounts.length
  const row = { address: 0, file: 1, line: 1, column: 0 }
  let operation = 0
  const advance = (count: number): void => {
    operation += count
    row.address += minLength * Math.floor(operation / maxOperations)
    operation %= maxOperations
  }
  const advanceBySpecial = (opcode: number): number => {
    if (lineRange === 0) throw new BinaryFormatError('the table of lines has the line range 0')
    advance(Math.floor((opcode - opcodeBase) / lineRange))
    return (opcode - opcodeBase) % lineRange
  }
  while (cursor.left > 0) {
    file.budget.spend(1)
    const opcode = cursor.u8()
    if (opcode >= opcodeBase) {
      row.line += lineBase + advanceBySpecial(opcode)
      if (!visit(row, false, cursor.position)) return
      continue
    }
    switch (opcode) {
      case Lns.extended: {
        const byteSize = cursor.uleb()
        const next = cursor.position + byteSize
        if (byteSize === 0 || byteSize > cursor.left) {
          throw new BinaryFormatError(`the table of lines has an operation of ${byteSize} bytes`)
        }
        const extended = cursor.u8()
        if (extended === Lne.endSequence) {
          if (!visit(row, true, next)) return
          Object.assign(row, { address: 0, file: 1, line: 1, column: 0 })
          operation = 0
        } else if (extended === Lne.setAddress) {
          row.address = cursor.word(byteSize - 1)
          operation = 0
        }
        cursor.position = next
        break
      }
      case Lns.copy:
        if (!visit(row, false, cursor.position)) return
        break
      case Lns.advancePc:
        advance(cursor.uleb())
        break
      case Lns.advanceLine:
        row.line += cursor.sleb()
        break
      case Lns.setFile:
        row.file = cursor.uleb()
        break
      case Lns.setColumn:
        row.column = cursor.uleb()
        break
      case Lns.constAddPc:
        advanceBySpecial(255)
        break
      case Lns.fixedAdvancePc:
        row.address += cursor.u16()
        operation = 0
        break
      default:
        for (let left = operandCounts[opcode]!; left > 0; left -= 1) cursor.skipLeb()
    }
  }
}
