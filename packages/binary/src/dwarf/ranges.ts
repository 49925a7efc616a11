import { BinaryFormatError } from '../binary-format-error.ts'
import { Attribute, Form } from './constants.ts'
import type { DieAttributes } from './die-cursor.ts'
import type { FormValue } from './forms.ts'
import { addressOf, indexedAddress, type Unit } from './unit.ts'

/** Receives the first address of a range, and the one behind it. */
type Visit = (low: number, high: number) => void

/** Kinds of entries of `.debug_rnglists` (DWARF 5, section 7.25). */
const Rle = {
  endOfList: 0,
  baseAddressx: 1,
  startxEndx: 2,
  startxLength: 3,
  offsetPair: 4,
  baseAddress: 5,
  startEnd: 6,
  startLength: 7,
} as const

/** Visits the ranges of the code of an entry. Those where the file has no code are left out, because the linker has removed their code. */
export function forEachRange(unit: Unit, attributes: DieAttributes, visit: Visit): void {
  const { file } = unit.header
  const visitCode: Visit = (low, high) => {
    file.budget.spend(1)
    if (low < high && unit.addressFile.isCode(low)) visit(low, high)
  }
  const ranges = attributes.get(Attribute.ranges)
  if (ranges !== undefined) {
    if (unit.header.version >= 5) forEachInRnglists(unit, ranges, visitCode)
    else forEachInRanges(unit, ranges.value, visitCode)
    return
  }
  const lowPc = attributes.get(Attribute.lowPc)
  const highPc = attributes.get(Attribute.highPc)
  const low = lowPc && addressOf(unit, lowPc)
  if (low === undefined || highPc === undefined) return
  // A number is a size.
  visitCode(low, addressOf(unit, highPc) ?? low + highPc.value)
}

/** The address at which the code of an entry begins. Parts of a function that are rarely run are somewhere else. */
export function firstAddress(unit: Unit, attributes: DieAttributes): number | undefined {
  let first: number | undefined
  forEachRange(unit, attributes, (low) => {
    first ??= low
  })
  return first
}

export function hasRange(unit: Unit, attributes: DieAttributes, address: number): boolean {
  let found = false
  forEachRange(unit, attributes, (low, high) => {
    found ||= address >= low && address < high
  })
  return found
}

/** A list of pairs of addresses, relative to a base, which a pair with the largest address as its first member sets. Two zeros end it. */
function forEachInRanges(unit: Unit, offset: number, visit: Visit): void {
  const { addressSize } = unit.header
  const cursor = unit.addressFile.cursor('.debug_ranges', offset + (isSplit(unit) ? unit.rangesBase : 0))
  const largest = addressSize === 8 ? 2 ** 64 : 2 ** (8 * addressSize) - 1
  let { base } = unit
  while (true) {
    const low = cursor.word(addressSize)
    const high = cursor.word(addressSize)
    if (low === 0 && high === 0) return
    if (low === largest) base = high
    else visit(base + low, base + high)
  }
}

const isSplit = (unit: Unit): boolean => unit.addressFile !== unit.header.file

function forEachInRnglists(unit: Unit, { form, value }: FormValue, visit: Visit): void {
  const { file, addressSize, offsetSize } = unit.header
  let offset = value
  if (form === Form.rnglistx) {
    const { rnglistsBase } = unit
    offset = rnglistsBase + file.cursor('.debug_rnglists', rnglistsBase + value * offsetSize).word(offsetSize)
  }
  const cursor = file.cursor('.debug_rnglists', offset)
  let { base } = unit
  while (true) {
    file.budget.spend(1)
    const kind = cursor.u8()
    switch (kind) {
      case Rle.endOfList:
        return
      case Rle.baseAddressx:
        base = indexedAddress(unit, cursor.uleb())
        break
      case Rle.startxEndx: {
        const low = indexedAddress(unit, cursor.uleb())
        visit(low, indexedAddress(unit, cursor.uleb()))
        break
      }
      case Rle.startxLength: {
        const low = indexedAddress(unit, cursor.uleb())
        visit(low, low + cursor.uleb())
        break
      }
      case Rle.offsetPair: {
        const low = base + cursor.uleb()
        visit(low, base + cursor.uleb())
        break
      }
      case Rle.baseAddress:
        base = cursor.word(addressSize)
        break
      case Rle.startEnd: {
        const low = cursor.word(addressSize)
        visit(low, cursor.word(addressSize))
        break
      }
      case Rle.startLength: {
        const low = cursor.word(addressSize)
        visit(low, low + cursor.uleb())
        break
      }
      default:
        throw new BinaryFormatError(`a list of ranges has an entry of the unknown kind ${kind}`)
    }
  }
}
