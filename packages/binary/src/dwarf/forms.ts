import { BinaryFormatError } from '../binary-format-error.ts'
import type { DataCursor } from '../debug-info/data-cursor.ts'
import { Form } from './constants.ts'

/** The sizes that the values of a unit depend on. */
export interface Encoding {
  readonly version: number
  /** The size of an offset in bytes, which is 8 in the 64-bit format. */
  readonly offsetSize: 4 | 8
  readonly addressSize: number
}

/** The value of an attribute as it is in the file. */
export interface FormValue {
  readonly form: number
  /** The number, or for a text within the value its offset. Blocks have their offset. */
  readonly value: number
}

/** Reads a value of a form, or passes over it. */
export function readForm(cursor: DataCursor, form: number, implicit: number, encoding: Encoding): number {
  switch (form) {
    case Form.addr:
      return cursor.word(encoding.addressSize)
    case Form.data1:
    case Form.flag:
    case Form.ref1:
    case Form.strx1:
    case Form.addrx1:
      return cursor.u8()
    case Form.data2:
    case Form.ref2:
    case Form.strx2:
    case Form.addrx2:
      return cursor.u16()
    case Form.strx3:
    case Form.addrx3:
      return cursor.u24()
    case Form.data4:
    case Form.ref4:
    case Form.strx4:
    case Form.addrx4:
    case Form.refSup4:
      return cursor.u32()
    case Form.data8:
    case Form.ref8:
    case Form.refSig8:
    case Form.refSup8:
      return cursor.u64()
    case Form.sdata:
      return cursor.sleb()
    case Form.udata:
    case Form.refUdata:
    case Form.strx:
    case Form.addrx:
    case Form.loclistx:
    case Form.rnglistx:
    case Form.gnuAddrIndex:
    case Form.gnuStrIndex:
      return cursor.uleb()
    case Form.strp:
    case Form.lineStrp:
    case Form.secOffset:
    case Form.strpSup:
    case Form.gnuRefAlt:
    case Form.gnuStrpAlt:
      return cursor.word(encoding.offsetSize)
    case Form.refAddr:
      return cursor.word(encoding.version === 2 ? encoding.addressSize : encoding.offsetSize)
    case Form.flagPresent:
      return 1
    case Form.implicitConst:
      return implicit
    case Form.string: {
      const start = cursor.position
      cursor.skipText()
      return start
    }
    case Form.block1:
      return skipBlock(cursor, cursor.u8())
    case Form.block2:
      return skipBlock(cursor, cursor.u16())
    case Form.block4:
      return skipBlock(cursor, cursor.u32())
    case Form.block:
    case Form.exprloc:
      return skipBlock(cursor, cursor.uleb())
    case Form.data16:
      return skipBlock(cursor, 16)
    default:
      throw new BinaryFormatError(`the debug information has a value of the unknown form 0x${form.toString(16)}`)
  }
}

function skipBlock(cursor: DataCursor, byteSize: number): number {
  const start = cursor.position
  cursor.skip(byteSize)
  return start
}
