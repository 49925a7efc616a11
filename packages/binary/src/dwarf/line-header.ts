import { BinaryFormatError } from '../binary-format-error.ts'
import type { DataCursor } from '../debug-info/data-cursor.ts'
import { Attribute, Form } from './constants.ts'
import type { DwarfFile } from './dwarf-file.ts'
import { readForm, type Encoding, type FormValue } from './forms.ts'
import { textOf, type Unit } from './unit.ts'

/** The format of a directory or a file name in DWARF 5 (section 6.2.4.1): the parts of an entry. */
const Lnct = { path: 1, directoryIndex: 2 } as const

/** The header of a program of `.debug_line` (DWARF 2 to 5, section 6.2.4), with offsets in this section. */
export interface LineHeader extends Encoding {
  readonly unit: Unit
  /** The offsets of the directories and files, of the program, and of its end. */
  readonly filesAt: number
  readonly programAt: number
  readonly end: number
  /** The smallest size of an instruction in bytes, and the most operations of one. */
  readonly minLength: number
  readonly maxOperations: number
  readonly lineBase: number
  readonly lineRange: number
  /** The number of operands of each opcode of the standard. Larger opcodes are special. */
  readonly operandCounts: readonly number[]
}

export function readLineHeader(unit: Unit, offset: number): LineHeader {
  const cursor = unit.header.file.cursor('.debug_line', offset)
  const { byteSize, offsetSize } = cursor.initialLength()
  cursor.limit(byteSize)
  const version = cursor.u16()
  if (version < 2 || version > 5) {
    throw new BinaryFormatError(`the table of lines has the version ${version}, which is not 2 to 5`)
  }
  const addressSize = version >= 5 ? cursor.u8() : unit.header.addressSize
  // The size of a segment selector.
  if (version >= 5) cursor.skip(1)
  const headerSize = cursor.word(offsetSize)
  const programAt = cursor.position + headerSize
  const minLength = cursor.u8()
  const maxOperations = version >= 4 ? Math.max(1, cursor.u8()) : 1
  // Whether a row begins a statement.
  cursor.skip(1)
  const lineBase = cursor.i8()
  const lineRange = cursor.u8()
  const operandCounts = [0]
  for (let left = cursor.u8() - 1; left > 0; left -= 1) operandCounts.push(cursor.u8())
  const filesAt = cursor.position
  return {
    unit,
    version,
    offsetSize,
    addressSize,
    filesAt,
    programAt,
    end: cursor.end,
    minLength,
    maxOperations,
    lineBase,
    lineRange,
    operandCounts,
  }
}

/** The path of a file by its number. A relative path of the file gets the directory of the compilation before it. */
export function pathOfFile(header: LineHeader, index: number, supplement: DwarfFile | undefined): string | undefined {
  const { unit } = header
  const compilation = textOf(unit, unit.attributes.get(Attribute.compDir), supplement)
  const [directory, name] = header.version < 5 ? oldNames(header, index) : names(header, index, supplement)
  if (name === undefined) return undefined
  return [compilation, directory, name].reduce((path, part) => {
    if (!part || !path || part.startsWith('/')) return part || path
    return path.endsWith('/') ? path + part : `${path}/${part}`
  })
}

const cursorOf = ({ unit, filesAt, programAt }: LineHeader): DataCursor =>
  unit.header.file.cursor('.debug_line', filesAt, programAt)

type Names = readonly [directory: string | undefined, name: string | undefined]

/** In versions 2 to 4, both lists end with an empty text. Numbers of files begin at 1, and the directory 0 is that of the compilation. */
function oldNames(header: LineHeader, index: number): Names {
  const { file } = header.unit.header
  const cursor = cursorOf(header)
  const skipped = (): number => {
    const start = cursor.position
    cursor.skipText()
    return start
  }
  const isEmpty = (start: number): boolean => cursor.position === start + 1
  while (!isEmpty(skipped()));
  for (let number = 1; ; number += 1) {
    const nameAt = skipped()
    if (isEmpty(nameAt)) return [undefined, undefined]
    const directory = cursor.uleb()
    cursor.skipLeb()
    cursor.skipLeb()
    if (number !== index) continue
    const name = file.text('.debug_line', nameAt)
    if (directory === 0) return [undefined, name]
    const directories = cursorOf(header)
    const startOf = (count: number): number | undefined => {
      for (let left = count; ; left -= 1) {
        const start = directories.position
        directories.skipText()
        if (directories.position === start + 1) return undefined
        if (left === 1) return start
      }
    }
    const directoryAt = startOf(directory)
    return [directoryAt === undefined ? undefined : file.text('.debug_line', directoryAt), name]
  }
}

/** A directory or a file of DWARF 5. */
interface Entry {
  readonly path: FormValue | undefined
  readonly directory: number
}

function names(header: LineHeader, index: number, supplement: DwarfFile | undefined): Names {
  const cursor = cursorOf(header)
  findEntry(header, cursor, undefined)
  const entry = findEntry(header, cursor, index)
  const directory = entry && findEntry(header, cursorOf(header), entry.directory)
  const text = ({ path }: Entry): string | undefined => {
    if (path?.form === Form.string) return header.unit.header.file.text('.debug_line', path.value)
    return textOf(header.unit, path, supplement)
  }
  return [directory && text(directory), entry && text(entry)]
}

/** Reads a list up to an entry, or passes over the whole list. */
function findEntry(header: LineHeader, cursor: DataCursor, index: number | undefined): Entry | undefined {
  const formats: (readonly [content: number, form: number])[] = []
  for (let left = cursor.u8(); left > 0; left -= 1) formats.push([cursor.uleb(), cursor.uleb()])
  const count = cursor.uleb()
  for (let number = 0; number < count; number += 1) {
    const start = cursor.position
    let path: FormValue | undefined
    let directory = 0
    for (const [content, form] of formats) {
      const value = readForm(cursor, form, 0, header)
      if (content === Lnct.path) path = { form, value }
      else if (content === Lnct.directoryIndex) directory = value
    }
    if (number === index) return { path, directory }
    // Otherwise the number of entries would decide about the time alone.
    if (cursor.position === start) throw new BinaryFormatError('the table of lines has files without bytes')
  }
  return undefined
}
