import { AlignmentError, ArgumentError, type Segment } from '@tenon/core'
import { type Block, checkSize, checkUsable, describe } from '@tenon/core/internal'
import { locate, locateForWrite } from './locate.ts'
import { refuse, toInt64, toUint64 } from './value-range.ts'

/** The kinds of which memory can be changed in one step that no other thread sees half done. */
export type AtomicKind = 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64'

const classes = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
} as const

/** What a value of a kind is in JavaScript. */
export type AtomicValue<Kind extends AtomicKind> = Kind extends 'int64' | 'uint64' ? bigint : number

/** What combines the old value with the operand. */
export type AtomicOperation = 'add' | 'sub' | 'and' | 'or' | 'xor' | 'exchange'

/** What all of them are taken for: which one it is never matters here. */
type AnyArray = Int32Array<ArrayBufferLike>

/** One array for each kind over a whole block. */
const arrays = new WeakMap<Block, Partial<Record<AtomicKind, AnyArray>>>()

function arrayOf(block: Block, kind: AtomicKind): AnyArray {
  let known = arrays.get(block)
  if (known === undefined) arrays.set(block, (known = {}))
  const { buffer } = block.view
  const Class = classes[kind]
  const length = Math.floor(buffer.byteLength / Class.BYTES_PER_ELEMENT)
  return (known[kind] ??= new Class(buffer as ArrayBuffer, 0, length) as unknown as AnyArray)
}

/** The array and the index of a value. @throws as an access does */
function place(
  segment: Segment,
  kind: AtomicKind,
  byteOffset: number,
  isWrite: boolean,
): [array: AnyArray, index: number] {
  const size = checkKind(kind).BYTES_PER_ELEMENT
  const inBlock = (isWrite ? locateForWrite : locate)(segment, byteOffset, size, size)
  checkUsable(segment.block)
  const at = segment.block.view.byteOffset + inBlock
  if (at % size !== 0) {
    throw new AlignmentError(`atomic access needs a buffer that starts at a multiple of ${size}, this one does not`)
  }
  return [arrayOf(segment.block, kind), at / size]
}

function checkKind(kind: AtomicKind): (typeof classes)[AtomicKind] {
  if (typeof kind === 'string' && Object.hasOwn(classes, kind)) return classes[kind]
  throw new ArgumentError(`kind must be one of ${Object.keys(classes).join(', ')}, got ${describe(kind)}`)
}

/** @throws {ArgumentError} if a value is not of the kind, or there is no such kind. */
function operand(kind: AtomicKind, value: number | bigint): never {
  if (kind === 'int64') return toInt64(value) as never
  if (kind === 'uint64') return toUint64(value) as never
  const array = new (checkKind(kind))(1)
  if (typeof value !== 'number') refuse(kind, value)
  array[0] = value as never
  return array[0] === value ? (value as never) : refuse(kind, value)
}

export function atomicLoad(segment: Segment, kind: AtomicKind, byteOffset: number): number | bigint {
  const [array, index] = place(segment, kind, byteOffset, false)
  return Atomics.load(array, index)
}

export function atomicStore(segment: Segment, kind: AtomicKind, byteOffset: number, value: number | bigint): void {
  const checked = operand(kind, value)
  const [array, index] = place(segment, kind, byteOffset, true)
  Atomics.store(array, index, checked)
}

export function atomicUpdate(
  segment: Segment,
  kind: AtomicKind,
  byteOffset: number,
  operation: AtomicOperation,
  value: number | bigint,
): number | bigint {
  const checked = operand(kind, value)
  const [array, index] = place(segment, kind, byteOffset, true)
  switch (operation) {
    case 'add':
    case 'sub':
    case 'and':
    case 'or':
    case 'xor':
    case 'exchange':
      return Atomics[operation](array, index, checked)
    default:
      throw new ArgumentError(`operation must be add, sub, and, or, xor or exchange, got ${describe(operation)}`)
  }
}

export function atomicCompareExchange(
  segment: Segment,
  kind: AtomicKind,
  byteOffset: number,
  expected: number | bigint,
  replacement: number | bigint,
): number | bigint {
  const [before, after] = [operand(kind, expected), operand(kind, replacement)]
  const [array, index] = place(segment, kind, byteOffset, true)
  return Atomics.compareExchange(array, index, before, after)
}

function checkWaitable(kind: AtomicKind): void {
  if (kind === 'int32' || kind === 'int64') return
  throw new ArgumentError(`kind must be int32 or int64, got ${describe(kind)}`)
}

/** @throws {ArgumentError} if the memory is not shared: nobody else could wake this thread. */
export function atomicWait(
  segment: Segment,
  kind: 'int32' | 'int64',
  byteOffset: number,
  expected: number | bigint,
  timeout: number,
): 'ok' | 'not-equal' | 'timed-out' {
  checkWaitable(kind)
  const checked = operand(kind, expected)
  if (typeof timeout !== 'number' || !(timeout >= 0)) {
    throw new ArgumentError(`timeout must be a number of milliseconds from 0, got ${describe(timeout)}`)
  }
  const [array, index] = place(segment, kind, byteOffset, false)
  if (!(array.buffer instanceof SharedArrayBuffer)) {
    throw new ArgumentError('only memory of a shared scope can be waited on, this is of another one')
  }
  segment.block.gate.enter()
  try {
    return Atomics.wait(array, index, checked, timeout)
  } finally {
    segment.block.gate.exit()
  }
}

export function atomicNotify(segment: Segment, kind: 'int32' | 'int64', byteOffset: number, count: number): number {
  checkWaitable(kind)
  const most = count === Infinity ? count : checkSize(count, 'count', 'threads')
  const [array, index] = place(segment, kind, byteOffset, false)
  return Atomics.notify(array, index, most)
}
