import { CONSTANTS, LAYOUTS, textAt } from '@tenon/core/internal'
import { malformed } from '../errors/arrow-error.ts'
import { canBeMemory, readWords } from '../import/native-words.ts'
import type { KnownField } from './arrow-schema.ts'
import { childCount, parseFormat } from './format.ts'
import { readMetadata } from './metadata.ts'

/** The deepest nesting, and the most fields, of a schema. Both keep a struct that contains itself from being read for ever. */
const [MOST_DEPTH, MOST_FIELDS] = [64, 65_536]

const { size: SCHEMA_SIZE } = LAYOUTS.tn_arrow_schema_t
const { ARROW_FLAG_NULLABLE } = CONSTANTS

/** The fields of a schema that were read so far. */
interface Progress {
  fields: number
}

/** Reads an `ArrowSchema` struct. @throws {ArrowError} if it is not valid */
export function readSchema(address: number): KnownField {
  return readField(address, 'the schema', 0, { fields: 0 })
}

function readField(address: number, path: string, depth: number, progress: Progress): KnownField {
  if (depth > MOST_DEPTH) throw malformed('the schema', `must be nested at most ${MOST_DEPTH} levels deep`)
  if (++progress.fields > MOST_FIELDS) throw malformed('the schema', `must have at most ${MOST_FIELDS} fields`)
  const words = readWords(address, SCHEMA_SIZE / 8)
  const [formatAt, nameAt, metadataAt, flags, count, childrenAt, dictionaryAt, release] = words as [number, ...number[]]
  if (release === 0) throw malformed(path, 'must not be released')
  const format = readText(formatAt, path, 'a format')
  if (format === null) throw malformed(path, 'must have a format, got the null pointer')
  const layout = parseFormat(format, path)
  const name = readText(nameAt!, path, 'a name') ?? ''
  const own = depth === 0 ? path : `${path === 'the schema' ? 'column' : path}${depth === 1 ? ' ' : '.'}${shown(name)}`
  const expected = childCount(layout)
  if (count! < 0 || count! > MOST_FIELDS || (expected !== undefined && count !== expected))
    throw malformed(own, `must have ${expected ?? `0 to ${MOST_FIELDS}`} children, got ${count}`, { format })
  const children = readPointers(childrenAt!, count!, own).map((child) => readField(child, own, depth + 1, progress))
  if (dictionaryAt !== 0 && !isStruct(dictionaryAt!, SCHEMA_SIZE))
    throw malformed(own, `must have a struct as dictionary, got the address ${dictionaryAt}`)
  const dictionary = dictionaryAt === 0 ? undefined : readField(dictionaryAt!, own, depth + 1, progress)
  if (dictionary !== undefined && (layout.kind !== 'number' || !layout.dtype.includes('int')))
    throw malformed(own, 'must have integers as indices of its dictionary', { format })
  return Object.freeze({
    name,
    format,
    isNullable: ((flags! >>> 0) & ARROW_FLAG_NULLABLE) !== 0,
    metadata: readMetadata(metadataAt!, own),
    children: Object.freeze(children),
    dictionary,
    layout,
  })
}

/** A name as messages show it. */
const shown = (name: string): string => JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}...` : name)

function readText(address: number, path: string, what: string): string | null {
  if (address === 0) return null
  if (!canBeMemory(address, 1)) throw malformed(path, `must have ${what} in memory, got the address ${address}`)
  try {
    return textAt(address)
  } catch (error) {
    throw malformed(path, `must have ${what} that ends: ${(error as Error).message}`)
  }
}

/** Reads a list of addresses of structs. @throws {ArrowError} if one is not an address */
export function readPointers(address: number, count: number, path: string): number[] {
  if (count === 0) return []
  if (!isStruct(address, 8 * count)) throw malformed(path, `must have a list of ${count} children, got ${address}`)
  const pointers = readWords(address, count)
  const wrong = pointers.findIndex((pointer) => !isStruct(pointer, SCHEMA_SIZE))
  if (wrong !== -1) throw malformed(path, `must have a struct as child ${wrong}, got the address ${pointers[wrong]}`)
  return pointers
}

/** Whether a struct or a list of pointers can be at an address. */
export const isStruct = (address: number, byteSize: number): boolean =>
  canBeMemory(address, byteSize) && address % 8 === 0
