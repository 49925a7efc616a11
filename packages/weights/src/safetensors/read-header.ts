import type { DType } from '@tenon/core'
import type { FileBytes } from '../files/file-bytes.ts'
import type { BlockLayout, StoredEntry } from '../files/weights-entry.ts'
import { HeaderText, PREFIX_SIZE } from './header-text.ts'

/** The largest header in bytes, as in the library of the format. */
const MOST_HEADER = 100_000_000

/** The most axes of a tensor, as in NumPy. */
const MOST_AXES = 64

interface ElementType {
  readonly dtype: DType
  readonly bits: number
  readonly block?: BlockLayout
}

/** Four elements of 6 bits in three bytes, for which Tenon has no type. */
const sixBits: ElementType = { dtype: 'uint8', bits: 6, block: { elements: 4, byteSize: 3 } }

/** The element types of the library `safetensors` 0.8. */
const elementTypes = new Map<string, ElementType>([
  ['BOOL', { dtype: 'bool', bits: 8 }],
  ['F4', { dtype: 'float4_e2m1fn', bits: 4 }],
  ['F6_E2M3', sixBits],
  ['F6_E3M2', sixBits],
  ['U8', { dtype: 'uint8', bits: 8 }],
  ['I8', { dtype: 'int8', bits: 8 }],
  ['F8_E5M2', { dtype: 'float8_e5m2', bits: 8 }],
  ['F8_E4M3', { dtype: 'float8_e4m3fn', bits: 8 }],
  ['F8_E8M0', { dtype: 'float8_e8m0fnu', bits: 8 }],
  ['F8_E4M3FNUZ', { dtype: 'float8_e4m3fnuz', bits: 8 }],
  ['F8_E5M2FNUZ', { dtype: 'float8_e5m2fnuz', bits: 8 }],
  ['I16', { dtype: 'int16', bits: 16 }],
  ['U16', { dtype: 'uint16', bits: 16 }],
  ['F16', { dtype: 'float16', bits: 16 }],
  ['BF16', { dtype: 'bfloat16', bits: 16 }],
  ['I32', { dtype: 'int32', bits: 32 }],
  ['U32', { dtype: 'uint32', bits: 32 }],
  ['F32', { dtype: 'float32', bits: 32 }],
  ['C64', { dtype: 'complex64', bits: 64 }],
  ['F64', { dtype: 'float64', bits: 64 }],
  ['I64', { dtype: 'int64', bits: 64 }],
  ['U64', { dtype: 'uint64', bits: 64 }],
])

export interface SafetensorsHeader {
  readonly entries: ReadonlyMap<string, StoredEntry>
  readonly metadata: ReadonlyMap<string, string>
}

/** Reads the header of a safetensors file. @throws {WeightsFormatError} with the place */
export function readHeader(file: FileBytes): SafetensorsHeader {
  if (file.byteSize < PREFIX_SIZE) throw file.error(file.byteSize, 'the file ends within the size of its header')
  const size = file.copy(0, PREFIX_SIZE).readBigUInt64LE()
  if (size > MOST_HEADER) throw file.error(0, `the header has ${size} bytes, more than the limit of ${MOST_HEADER}`)
  const dataOffset = PREFIX_SIZE + Number(size)
  if (dataOffset > file.byteSize)
    throw file.error(0, `the header has ${size} bytes, but the file ends at ${file.byteSize}`)
  const text = decodeHeader(file, file.copy(PREFIX_SIZE, Number(size)))
  const metadata = new Map<string, string>()
  const entries = new Map<string, StoredEntry>()
  const places: number[] = []
  text.object('the header', (key, position) => {
    if (key === '__metadata__') {
      text.object(key, (name) => metadata.set(name, text.string()))
    } else {
      entries.set(key, readEntry(text, key, position, dataOffset))
      places.push(position)
    }
  })
  text.end()
  checkPlaces(file, text, [...entries.values()], places, dataOffset)
  return { entries, metadata }
}

function decodeHeader(file: FileBytes, bytes: Buffer): HeaderText {
  if (bytes[0] !== 0x7b) throw file.error(PREFIX_SIZE, "the header should begin with '{'")
  try {
    return new HeaderText(file, new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch (cause) {
    throw file.error(PREFIX_SIZE, 'the header is not UTF-8', { cause })
  }
}

function readEntry(text: HeaderText, name: string, position: number, dataOffset: number): StoredEntry {
  let type: string | undefined
  let shape: readonly number[] | undefined
  let offsets: readonly number[] | undefined
  const what = `the tensor ${JSON.stringify(name)}`
  text.object(what, (key, at) => {
    if (key === 'dtype') type = text.string()
    else if (key === 'shape') shape = text.numbers(MOST_AXES)
    else if (key === 'data_offsets') offsets = text.numbers(2)
    else throw text.error(at, `${what} should have dtype, shape and data_offsets, but has ${JSON.stringify(key)}`)
  })
  if (type === undefined || shape === undefined || offsets?.length !== 2) {
    throw text.error(position, `${what} should have dtype, shape and two data_offsets`)
  }
  const element = elementTypes.get(type)
  if (element === undefined) {
    throw text.error(position, `${what} has elements of an unknown type ${JSON.stringify(type)}`)
  }
  const [start, end] = offsets as [number, number]
  const { dtype, bits, block } = element
  const count = shape.includes(0) ? 0 : shape.reduce((product, size) => product * size, 1)
  if (count * bits > Number.MAX_SAFE_INTEGER || (count * bits) % 8 !== 0 || end - start !== (count * bits) / 8) {
    throw text.error(
      position,
      `${what} should have ${(count * bits) / 8} bytes for ${type}[${shape.join(', ')}], but its data_offsets are [${start}, ${end}]`,
    )
  }
  return {
    name,
    type,
    shape: Object.freeze(shape),
    dtype,
    byteOffset: dataOffset + start,
    byteSize: end - start,
    ...(block === undefined ? {} : { block }),
    ...(bits === 4 ? { packing: 'packed' } : {}),
  }
}

/** Checks that the tensors fill the file, without holes and overlaps. */
function checkPlaces(
  file: FileBytes,
  text: HeaderText,
  entries: readonly StoredEntry[],
  places: readonly number[],
  dataOffset: number,
): void {
  const order = [...entries.keys()].toSorted(
    (a, b) => entries[a]!.byteOffset - entries[b]!.byteOffset || entries[a]!.byteSize - entries[b]!.byteSize,
  )
  let end = dataOffset
  for (const index of order) {
    const { name, byteOffset, byteSize } = entries[index]!
    if (byteOffset !== end) {
      const problem = byteOffset < end ? 'overlaps another one' : 'leaves a hole before it'
      throw text.error(
        places[index]!,
        `the tensor ${JSON.stringify(name)} ${problem}: it should begin at ${end - dataOffset}, not ${byteOffset - dataOffset}`,
      )
    }
    end += byteSize
  }
  if (end !== file.byteSize) {
    const hint = end > file.byteSize ? 'Copy or download the file again, because it is truncated.' : undefined
    throw file.error(
      Math.min(end, file.byteSize),
      `the tensors should end the file at byte ${end}, but it ends at ${file.byteSize}`,
      { hint },
    )
  }
}
