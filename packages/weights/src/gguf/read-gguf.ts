import type { FileBytes } from '../files/file-bytes.ts'
import type { StoredEntry } from '../files/weights-entry.ts'
import { ggmlTypes } from './ggml-types.ts'
import { HeaderReader } from './header-reader.ts'
import { UINT32, ValueReader, type GgufValue } from './read-values.ts'

const MAGIC = 0x46554747

/** The most axes of a tensor in ggml. */
const MOST_AXES = 4

/** The most bytes of a key and of the name of a tensor. */
const MOST_NAME = 65_535

/** The alignment of tensors if the file does not state one. */
const USUAL_ALIGNMENT = 32

/** The key of the alignment. */
const ALIGNMENT = 'general.alignment'

/** The least bytes of a value with its key, and of the description of a tensor. */
const LEAST = { value: 8 + 4 + 1, tensor: 8 + 4 + 4 + 8 } as const

export interface GgufHeader {
  readonly entries: ReadonlyMap<string, StoredEntry>
  readonly metadata: ReadonlyMap<string, GgufValue>
}

/** Reads the header of a GGUF file of version 2 or 3. @throws {WeightsFormatError} with the place */
export function readGguf(file: FileBytes): GgufHeader {
  const reader = new HeaderReader(file)
  const magic = reader.uint32('the magic')
  if (magic !== MAGIC) throw file.error(0, "the file should begin with 'GGUF'")
  const version = reader.uint32('the version')
  if (version !== 2 && version !== 3) {
    const isSwapped = version !== 0 && (version & 0xffff) === 0
    throw file.error(4, isSwapped ? 'the file is big-endian' : `the version should be 2 or 3, but is ${version}`, {
      hint: isSwapped ? 'Convert it with gguf-convert-endian of the Python package gguf.' : 'Convert the model again.',
    })
  }
  const tensorCount = reader.count('the number of tensors', LEAST.tensor)
  const valueCount = reader.count('the number of values', LEAST.value)
  const { metadata, alignment } = readMetadata(reader, valueCount)
  const entries = new Map<string, StoredEntry>()
  const places: number[] = []
  for (let i = 0; i < tensorCount; i++) {
    const { position } = reader
    const entry = readEntry(reader, alignment)
    if (entries.has(entry.name)) throw file.error(position, `two tensors have the name ${JSON.stringify(entry.name)}`)
    entries.set(entry.name, entry)
    places.push(position)
  }
  const dataOffset = Math.ceil(reader.position / alignment) * alignment
  for (const entry of entries.values()) entries.set(entry.name, { ...entry, byteOffset: dataOffset + entry.byteOffset })
  checkPlaces(file, [...entries.values()], places)
  return { entries, metadata }
}

function readMetadata(
  reader: HeaderReader,
  count: number,
): { readonly metadata: ReadonlyMap<string, GgufValue>; readonly alignment: number } {
  const metadata = new Map<string, GgufValue>()
  const values = new ValueReader(reader)
  let alignment = USUAL_ALIGNMENT
  for (let i = 0; i < count; i++) {
    const { position } = reader
    const key = reader.text('a key', MOST_NAME, true)
    if (metadata.has(key)) throw reader.file.error(position, `two values have the key ${JSON.stringify(key)}`)
    const what = `the value of ${JSON.stringify(key)}`
    const type = reader.uint32(`the type of ${what}`)
    const value = values.read(type, what)
    metadata.set(key, value)
    if (key !== ALIGNMENT) continue
    if (type !== UINT32 || (value as number) === 0 || ((value as number) & ((value as number) - 1)) !== 0) {
      throw reader.file.error(position, `${what} should be a power of two of 32 bits`)
    }
    alignment = value as number
  }
  return { metadata, alignment }
}

/** Reads the description of a tensor, with the place from the start of the tensors. */
function readEntry(reader: HeaderReader, alignment: number): StoredEntry {
  const { file } = reader
  const name = reader.text('the name of a tensor', MOST_NAME, true)
  const what = `the tensor ${JSON.stringify(name)}`
  const start = reader.position
  const axes = reader.uint32(`the number of axes of ${what}`)
  if (axes > MOST_AXES) throw file.error(start, `${what} should have at most ${MOST_AXES} axes, but has ${axes}`)
  const sizes = Array.from({ length: axes }, () => reader.size(`a size of ${what}`))
  const number = reader.uint32(`the type of ${what}`)
  const byteOffset = reader.size(`the offset of ${what}`)
  const type = ggmlTypes.get(number)
  if (type === undefined) throw file.error(start, `${what} has elements of an unknown type, ${number}`)
  const { elements, dtype } = type
  if ((sizes[0] ?? 1) % elements !== 0) {
    throw file.error(
      start,
      `rows of ${what} should have a multiple of ${elements} elements for ${type.name}, but have ${sizes[0] ?? 1}`,
    )
  }
  const count = sizes.includes(0) ? 0 : sizes.reduce((product, size) => product * size, 1)
  const byteSize = (count / elements) * type.byteSize
  if (count > Number.MAX_SAFE_INTEGER || byteSize > Number.MAX_SAFE_INTEGER)
    throw file.error(start, `${what} has 2^53 bytes or more`)
  if (byteOffset % alignment !== 0) {
    throw file.error(start, `${what} should begin at a multiple of ${alignment}, but begins at ${byteOffset}`)
  }
  return {
    name,
    type: type.name,
    // The first size of a file is that of the axis whose elements are adjacent.
    shape: Object.freeze(sizes.toReversed()),
    dtype,
    byteOffset,
    byteSize,
    ...(elements === 1 ? {} : { block: Object.freeze({ elements, byteSize: type.byteSize }) }),
  }
}

/** Checks that the tensors lie within the file, and do not overlap. */
function checkPlaces(file: FileBytes, entries: readonly StoredEntry[], places: readonly number[]): void {
  const order = [...entries.keys()].toSorted((a, b) => entries[a]!.byteOffset - entries[b]!.byteOffset)
  let end = 0
  let last = ''
  for (const index of order) {
    const { name, byteOffset, byteSize } = entries[index]!
    const what = `the tensor ${JSON.stringify(name)}`
    if (byteOffset + byteSize > file.byteSize) {
      throw file.error(
        places[index]!,
        `${what} should end at byte ${byteOffset + byteSize}, but the file ends at ${file.byteSize}`,
        {
          hint: 'Copy or download the file again, because it is truncated.',
        },
      )
    }
    if (byteSize === 0) continue
    if (byteOffset < end) throw file.error(places[index]!, `${what} overlaps the tensor ${JSON.stringify(last)}`)
    end = byteOffset + byteSize
    last = name
  }
}
