import { BinaryFormatError } from '../binary-format-error.ts'
import type { DwarfFile } from './dwarf-file.ts'
import type { Encoding } from './forms.ts'

/** The most units of a file. Large programs have some ten thousand. */
const MAX_UNITS = 500_000

const DW_UT_TYPE = 2
const DW_UT_SKELETON = 4
const DW_UT_SPLIT_COMPILE = 5
const DW_UT_SPLIT_TYPE = 6

/** The header of a unit in `.debug_info`, with offsets in this section. */
export interface UnitHeader extends Encoding {
  readonly file: DwarfFile
  readonly offset: number
  readonly end: number
  /** The offset of the first entry. */
  readonly diesAt: number
  readonly abbreviationsAt: number
  /** Whether the unit describes types alone, and no code. */
  readonly isType: boolean
  /** The number that a skeleton unit and its unit in another file share (DWARF 5), as two words. */
  readonly dwoId: string | undefined
}

/** The units of each file, which are read once. */
const units = new WeakMap<DwarfFile, readonly UnitHeader[]>()

/** The units of a file, in the order of their offsets. Those of versions that are not 2 to 5 are left out. */
export function unitsOf(file: DwarfFile): readonly UnitHeader[] {
  const known = units.get(file) ?? (file.has('.debug_info') ? readUnits(file) : [])
  units.set(file, known)
  return known
}

/** The unit with the entry at an offset of `.debug_info`. */
export function unitAt(file: DwarfFile, offset: number): UnitHeader {
  const all = unitsOf(file)
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (all[middle]!.end <= offset) low = middle + 1
    else high = middle
  }
  const unit = all[low]
  if (unit === undefined || offset < unit.diesAt) {
    throw new BinaryFormatError(`the debug information refers to offset ${offset}, which is in no unit`)
  }
  return unit
}

function readUnits(file: DwarfFile): UnitHeader[] {
  const found: UnitHeader[] = []
  const sectionSize = file.sizeOf('.debug_info')
  for (let offset = 0; offset < sectionSize;) {
    const cursor = file.cursor('.debug_info', offset)
    const { byteSize, offsetSize } = cursor.initialLength()
    const end = cursor.position + byteSize
    if (end > sectionSize) {
      throw new BinaryFormatError(`the unit at offset ${offset} of .debug_info should end at ${end} of ${sectionSize}`)
    }
    cursor.end = end
    const version = cursor.u16()
    if (version >= 2 && version <= 5) {
      const type = version === 5 ? cursor.u8() : 0
      const firstSize = version === 5 ? cursor.u8() : 0
      const abbreviationsAt = cursor.word(offsetSize)
      const addressSize = version === 5 ? firstSize : cursor.u8()
      const isSplit = type === DW_UT_SKELETON || type === DW_UT_SPLIT_COMPILE
      const dwoId = isSplit ? `${cursor.u32()}:${cursor.u32()}` : undefined
      const isType = type === DW_UT_TYPE || type === DW_UT_SPLIT_TYPE
      if (isType) cursor.skip(8 + offsetSize)
      const diesAt = cursor.position
      found.push({ file, offset, end, version, offsetSize, addressSize, diesAt, abbreviationsAt, isType, dwoId })
      if (found.length > MAX_UNITS) throw new BinaryFormatError(`the file has more than ${MAX_UNITS} units`)
    }
    offset = end
  }
  return found
}
