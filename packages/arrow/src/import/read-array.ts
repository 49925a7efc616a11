import { LAYOUTS } from '@tenon/core/internal'
import { malformed } from '../errors/arrow-error.ts'
import type { KnownField } from '../schema/arrow-schema.ts'
import { bufferCount } from '../schema/format.ts'
import { isStruct, readPointers } from '../schema/read-schema.ts'
import { canBeMemory, readWords } from './native-words.ts'

/** The contents of an `ArrowArray` struct, checked against its field. `offset` and `length` are those of the elements of the batch. */
export interface Node {
  readonly field: KnownField
  readonly path: string
  readonly length: number
  readonly offset: number
  /** The number of nulls, or -1 if the producer has not counted them. 0 if the type has no bitmap. */
  readonly nullCount: number
  /** The addresses of the buffers. That of the bitmap, which is the first one, is 0 without nulls. */
  readonly buffers: readonly number[]
  readonly children: readonly Node[]
  readonly dictionary: Node | undefined
}

const { size: ARRAY_SIZE } = LAYOUTS.tn_arrow_array_t

/** The most buffers of an array: those of string views are any number. */
const MOST_BUFFERS = 65_536

/** Where elements are: in the struct itself, or in the part that its parent uses. */
interface Part {
  readonly offset: number
  readonly length: number
}

/** Reads an `ArrowArray` struct. @throws {ArrowError} if it is not valid, or does not have the layout of the field */
export function readArray(address: number, field: KnownField): Node {
  return readNode(address, field, 'the array', undefined)
}

function readNode(address: number, field: KnownField, path: string, part: Part | undefined): Node {
  const words = readWords(address, ARRAY_SIZE / 8)
  const [length, nullCount, offset, buffers, children, buffersAt, childrenAt, dictionaryAt, release] = words as [
    number,
    ...number[],
  ]
  if (release === 0) throw malformed(path, 'must not be released: its producer has kept it, or somebody has moved it')
  const total = length + offset!
  if (!(length >= 0 && offset! >= 0 && total <= Number.MAX_SAFE_INTEGER))
    throw malformed(path, `must have a length and an offset of at least 0, got ${length} and ${offset}`)
  if (nullCount! < -1 || nullCount! > length) throw malformed(path, `must have -1 to ${length} nulls, got ${nullCount}`)
  if (part !== undefined && part.offset + part.length > length)
    throw malformed(path, `must have the ${part.offset + part.length} elements that its parent uses, got ${length}`)
  const own = part === undefined ? { offset: offset!, length } : { ...part, offset: offset! + part.offset }
  const { layout } = field
  const expected = bufferCount(layout)
  const least = layout.kind === 'views' ? 3 : 0
  if (buffers! < (expected ?? least) || buffers! > (expected ?? MOST_BUFFERS))
    throw malformed(path, `must have ${expected ?? `${least} to ${MOST_BUFFERS}`} buffers, got ${buffers}`, {
      format: field.format,
    })
  if (children !== field.children.length)
    throw malformed(path, `must have ${field.children.length} children as its schema has, got ${children}`)
  if ((dictionaryAt !== 0) !== (field.dictionary !== undefined))
    throw malformed(path, `must have ${field.dictionary === undefined ? 'no' : 'a'} dictionary, as its schema says`)
  const addresses = readBuffers(buffersAt!, buffers!, path)
  const hasBitmap = layout.kind !== 'null' && layout.kind !== 'other'
  checkNulls(addresses[0] ?? 0, hasBitmap, nullCount!, total, path)
  checkData({ field, path, addresses, total, length })
  const parts = partOfChildren(field, own, path)
  return {
    field,
    path,
    ...own,
    // A part may have other nulls than the whole.
    nullCount: nullCount === 0 || !hasBitmap ? 0 : own.length === length ? nullCount! : -1,
    buffers: nullCount === 0 && hasBitmap ? [0, ...addresses.slice(1)] : addresses,
    children: readPointers(childrenAt!, children, path).map((child, i) =>
      readNode(child, field.children[i]!, childPath(path, field.children[i]!), parts),
    ),
    dictionary: field.dictionary && readDictionary(dictionaryAt!, field.dictionary, path),
  }
}

function readDictionary(address: number, field: KnownField, path: string): Node {
  if (!isStruct(address, ARRAY_SIZE)) throw malformed(path, `must have a struct as dictionary, got ${address}`)
  return readNode(address, field, `the dictionary of ${path}`, undefined)
}

const childPath = (path: string, { name }: KnownField): string =>
  path === 'the array' ? `column ${JSON.stringify(name)}` : `${path}.${JSON.stringify(name)}`

function readBuffers(address: number, count: number, path: string): number[] {
  if (count === 0) return []
  if (!isStruct(address, 8 * count)) throw malformed(path, `must have a list of ${count} buffers, got ${address}`)
  return readWords(address, count)
}

const bytesOfBits = (bits: number): number => Math.ceil(bits / 8)

function checkNulls(bitmap: number, hasBitmap: boolean, nullCount: number, total: number, path: string): void {
  if (!hasBitmap) return
  if (bitmap === 0 && nullCount > 0) throw malformed(path, `must have a bitmap of its ${nullCount} nulls`)
  if (bitmap !== 0 && !canBeMemory(bitmap, bytesOfBits(total)))
    throw malformed(path, `must have a bitmap in memory, got the address ${bitmap}`)
}

interface Data {
  readonly field: KnownField
  readonly path: string
  readonly addresses: readonly number[]
  /** The elements of the struct, with those before its offset. */
  readonly total: number
  readonly length: number
}

/** Checks that the buffers whose sizes follow from the length can be memory. Those whose sizes are in memory are checked when they are read. */
function checkData({ field: { layout }, path, addresses, total, length }: Data): void {
  const check = (index: number, what: string, byteSize: number): void => {
    const address = addresses[index]!
    if (length === 0 && address === 0) return
    if (byteSize > 0 && !canBeMemory(address, byteSize))
      throw malformed(path, `must have ${byteSize} bytes of ${what}, got the address ${address}`)
  }
  if (layout.kind === 'number' || layout.kind === 'bytes') check(1, 'elements', total * layout.width)
  else if (layout.kind === 'bool') check(1, 'elements', bytesOfBits(total))
  else if (layout.kind === 'text' || layout.kind === 'list') check(1, 'offsets', (total + 1) * layout.width)
  else if (layout.kind === 'views') {
    check(1, 'views', total * 16)
    const variadic = addresses.length - 3
    if (variadic > 0 && !canBeMemory(addresses.at(-1)!, 8 * variadic))
      throw malformed(path, `must have the sizes of its ${variadic} buffers, got the address ${addresses.at(-1)}`)
  }
}

/** The elements of the children that an array uses. Undefined for all of them. */
function partOfChildren({ layout }: KnownField, { offset, length }: Part, path: string): Part | undefined {
  if (layout.kind === 'struct') return { offset, length }
  if (layout.kind !== 'fixedList') return undefined
  if ((offset + length) * layout.size > Number.MAX_SAFE_INTEGER)
    throw malformed(path, `must have fewer than 2^53 elements, got ${length} lists of ${layout.size}`)
  return { offset: offset * layout.size, length: length * layout.size }
}
