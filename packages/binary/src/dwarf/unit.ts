import type { DwarfFile } from './dwarf-file.ts'
import { Attribute, Form } from './constants.ts'
import { DieCursor, type DieAttributes } from './die-cursor.ts'
import type { FormValue } from './forms.ts'
import type { UnitHeader } from './units.ts'

/** A unit with its first entry, which has what the values of the other entries refer to. */
export interface Unit {
  readonly header: UnitHeader
  readonly attributes: DieAttributes
  /** The file and the offset of the unit's addresses in `.debug_addr`. */
  readonly addressFile: DwarfFile
  readonly addrBase: number
  /** The offset in `.debug_rnglists` of the offsets that DW_FORM_rnglistx counts, and the one in `.debug_ranges` of GNU's split files. */
  readonly rnglistsBase: number
  readonly rangesBase: number
  readonly strOffsetsBase: number
  /** The first address, to which lists of ranges are relative. */
  readonly base: number
}

export function openUnit(header: UnitHeader, skeleton?: Unit): Unit {
  const dies = new DieCursor(header, header.diesAt)
  const attributes: DieAttributes = dies.next() ? dies.attributes() : new Map()
  const number = (...names: number[]): number | undefined =>
    names.map((name) => attributes.get(name)?.value).find((value) => value !== undefined)
  const isSplit = skeleton !== undefined
  const headSize = header.offsetSize === 8 ? 16 : 8
  const isV5 = header.version >= 5
  const unit: Unit = {
    header,
    attributes,
    addressFile: skeleton?.header.file ?? header.file,
    addrBase: skeleton?.addrBase ?? number(Attribute.addrBase, Attribute.gnuAddrBase) ?? 0,
    // The list of offsets of a split file is the only one, behind a header that has four bytes more than that of texts.
    rnglistsBase: number(Attribute.rnglistsBase) ?? (isSplit && isV5 ? headSize + 4 : 0),
    rangesBase: skeleton?.rangesBase ?? number(Attribute.gnuRangesBase) ?? 0,
    strOffsetsBase: number(Attribute.strOffsetsBase) ?? (isV5 ? headSize : 0),
    base: skeleton?.base ?? 0,
  }
  const lowPc = attributes.get(Attribute.lowPc)
  return lowPc === undefined ? unit : { ...unit, base: addressOf(unit, lowPc) ?? 0 }
}

/** The address of an attribute, or undefined if the form is not that of an address. */
export function addressOf(unit: Unit, { form, value }: FormValue): number | undefined {
  if (form === Form.addr) return value
  const isIndex = form === Form.addrx || form === Form.gnuAddrIndex || (form >= Form.addrx1 && form <= Form.addrx4)
  return isIndex ? indexedAddress(unit, value) : undefined
}

export function indexedAddress({ header, addressFile, addrBase }: Unit, index: number): number {
  return addressFile.cursor('.debug_addr', addrBase + index * header.addressSize).word(header.addressSize)
}

/** The text of an attribute, or undefined if the form is not that of a text, or the text is in a file that is missing. */
export function textOf(unit: Unit, attribute: FormValue | undefined, supplement?: DwarfFile): string | undefined {
  if (attribute === undefined) return undefined
  const { form, value } = attribute
  const { file, offsetSize } = unit.header
  switch (form) {
    case Form.string:
      return file.text('.debug_info', value)
    case Form.strp:
      return file.text('.debug_str', value)
    case Form.lineStrp:
      return file.text('.debug_line_str', value)
    case Form.strpSup:
    case Form.gnuStrpAlt:
      return supplement?.text('.debug_str', value)
    case Form.strx:
    case Form.strx1:
    case Form.strx2:
    case Form.strx3:
    case Form.strx4:
    case Form.gnuStrIndex: {
      const at = unit.strOffsetsBase + value * offsetSize
      return file.text('.debug_str', file.cursor('.debug_str_offsets', at).word(offsetSize))
    }
    default:
      return undefined
  }
}
