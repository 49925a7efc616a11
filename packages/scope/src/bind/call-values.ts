import { ArgumentError, ArgumentRangeError } from '@tenon/core'
import { checkSize, isPointer, remotePlaceOf, wrongType, wrongValue } from '@tenon/core/internal'
import { MemoryLayout } from '../layout/layouts.ts'
import { memoryOfBuffer } from '../segment/foreign-memory.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import type { ValueForm } from './annotations.ts'
import { readPointer, writePointer } from './members.ts'
import { Struct } from './struct.ts'
import { textOf } from './text.ts'

/** The scalars that C writes to memory, and pointers. */
export type WrittenType = 'int32' | 'pointer'

/** Reads a value that C has written. */
export function readWritten(type: WrittenType, memory: MemorySegment, byteOffset = 0): unknown {
  if (type === 'pointer') return readPointer(memory, byteOffset)
  const getter = `get${type[0]!.toUpperCase()}${type.slice(1)}` as 'getInt32'
  return memory[getter](byteOffset)
}

/** Writes a value that C reads, and may replace. */
export function writeWritten(type: WrittenType, memory: MemorySegment, value: unknown): void {
  if (type === 'pointer') {
    writePointer(memory, 0, value instanceof Struct ? value.segment : (value as MemorySegment | null))
    return
  }
  const setter = `set${type[0]!.toUpperCase()}${type.slice(1)}` as 'setInt32'
  memory[setter](0, value as number)
}

export const sizeOfWritten = (type: WrittenType): number => (type === 'pointer' ? 8 : MemoryLayout[type].byteSize)

/**
 * The number of elements of an argument: bytes of a text, elements of an array, and bytes of memory by the size of an element.
 *
 * @throws {ArgumentError} for a pointer whose size is unknown, and for a part of an element
 */
export function lengthOf(value: unknown, elementSize: number, name: string): number {
  if (value === null || value === undefined) return 0
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (Array.isArray(value)) return value.length
  const size = byteSizeOf(value, name)
  if (size % elementSize === 0) return size / elementSize
  throw new ArgumentError(`${name} must have elements of ${elementSize} bytes, got ${size} bytes`)
}

function byteSizeOf(value: unknown, name: string): number {
  if (ArrayBuffer.isView(value)) return memoryOfBuffer(value).byteSize
  const memory = value instanceof Struct ? value.segment : value
  if (!(memory instanceof MemorySegment)) throw wrongType(name, 'a text, an array or memory', value)
  // The properties of a proxy can have any values.
  const { byteSize, base, block } = memory
  if (byteSize === 0 && memory.address !== 0n && block.bytes.length === 0)
    throw new ArgumentError(`${name} must have a size, got a pointer of C, whose size is unknown`, {
      hint: 'Set the size of its memory with reinterpret().',
    })
  if (isPointer(block) || (base >= 0 && byteSize >= 0 && base + byteSize <= block.bytes.length)) return byteSize
  throw wrongType(name, `a segment inside of its ${block.bytes.length} bytes`, value)
}

/** The number of values that C writes: the number of elements of an argument, or a number that the caller passes. */
export function countOf(value: unknown, elementSize: number, name: string): number {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  return checkCount(isNumber ? checkSize(value, name, 'elements') : lengthOf(value, elementSize, name), name)
}

/** The most elements of an array of a call, each of which is a value of JavaScript. */
const MOST_ELEMENTS = 2 ** 24

function checkCount(count: number, name: string): number {
  if (count <= MOST_ELEMENTS) return count
  throw wrongValue(name, `an array of at most ${MOST_ELEMENTS} elements`, count)
}

/** A copy of an array, whose elements are read once and without its iterator. */
export function copyOf(array: readonly unknown[], name: string): unknown[] {
  const { length } = array
  checkCount(length, name)
  const copy: unknown[] = []
  for (let i = 0; i < length; i++) copy.push(array[i])
  return copy
}

/** A value of C as its annotations make it. @param byteLength the size of the memory at a pointer, if C has said it */
export function formed(value: unknown, form: ValueForm | undefined, byteLength?: number): unknown {
  if (form === undefined) return byteLength === undefined ? value : sized(value as MemorySegment, byteLength)
  const { text, free, number, nullable, struct } = form
  if (struct !== undefined) return struct.at(value as MemorySegment)
  if (number) return asNumber(value)
  if (text) return ownText(value as MemorySegment, free, byteLength)
  if (nullable && (value as MemorySegment).address === 0n) return null
  return byteLength === undefined ? value : sized(value as MemorySegment, byteLength)
}

function ownText(pointer: MemorySegment, free: ValueForm['free'], byteLength: number | undefined): string | null {
  if (free === undefined) return textOf(pointer, byteLength)
  try {
    return textOf(pointer, byteLength)
  } finally {
    if (pointer.address !== 0n) free(pointer)
  }
}

/** The memory at a pointer: of another process, a copy. */
function sized(pointer: MemorySegment, byteLength: number): MemorySegment {
  if (pointer.address === 0n) return pointer
  const place = remotePlaceOf(pointer.block)
  return place === undefined ? pointer.reinterpret(byteLength) : MemorySegment.ofBuffer(place.read(byteLength))
}

function asNumber(value: unknown): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) || typeof value !== 'bigint') return number
  throw new ArgumentRangeError(`the result must be a number below 2^53, got ${value}`, {
    hint: 'Remove the annotation "number", so that the result is a bigint.',
  })
}
