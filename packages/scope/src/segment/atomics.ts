import { AlignmentError, ArgumentError, type Segment } from '@tenon/core'
import { type Block, checkSize, checkUsable, wrongType } from '@tenon/core/internal'
import { checkWord } from '../check.ts'
import { AlignedAccess } from '../generated/aligned-access.ts'
import { locate, locateForWrite } from './locate.ts'
import { refuse, toInt64, toUint64 } from './value-range.ts'

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

/** The kinds of values that support atomic access. */
export type AtomicKind = 'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64'

/** The JavaScript type of an atomic kind. */
export type AtomicValue<Kind extends AtomicKind> = Kind extends 'int64' | 'uint64' ? bigint : number

/** An operation that computes the new value from the old value and the operand. */
export type AtomicOperation = 'add' | 'sub' | 'and' | 'or' | 'xor' | 'exchange'

const operations: readonly AtomicOperation[] = ['add', 'sub', 'and', 'or', 'xor', 'exchange']

/** One type for all typed arrays, because the code below does not depend on the kind. */
type AnyArray = Int32Array<ArrayBufferLike>

/** The typed arrays over the buffers of views of blocks, one for each kind. */
const arrays = new WeakMap<DataView, Partial<Record<AtomicKind, AnyArray>>>()

function arrayOf({ view }: Block, kind: AtomicKind): AnyArray {
  let known = arrays.get(view)
  if (known === undefined) arrays.set(view, (known = {}))
  const { buffer } = view
  const Class = classes[kind]
  const length = Math.floor(buffer.byteLength / Class.BYTES_PER_ELEMENT)
  return (known[kind] ??= new Class(buffer as ArrayBuffer, 0, length) as unknown as AnyArray)
}

/** The typed array and the index of a value. @throws as an access does */
function place(
  segment: Segment,
  kind: AtomicKind,
  byteOffset: number,
  isWrite: boolean,
): [array: AnyArray, index: number] {
  const size = checkKind(kind).BYTES_PER_ELEMENT
  const { block } = segment
  const inBlock = (isWrite ? locateForWrite : locate)(segment, block, byteOffset, size, size)
  checkUsable(block)
  const at = block.view.byteOffset + inBlock
  if (at % size !== 0) {
    throw new AlignmentError(`the buffer of an atomic access must start at a multiple of ${size}, got the offset ${at}`)
  }
  return [arrayOf(block, kind), at / size]
}

function checkKind(kind: AtomicKind): (typeof classes)[AtomicKind] {
  if (typeof kind === 'string' && Object.hasOwn(classes, kind)) return classes[kind]
  throw wrongType('kind', `one of ${Object.keys(classes).join(', ')}`, kind)
}

/** @throws {ArgumentError} if the value does not fit the kind, or the kind does not exist. */
function operand(kind: AtomicKind, value: number | bigint): never {
  if (kind === 'int64') return toInt64(value) as never
  if (kind === 'uint64') return toUint64(value) as never
  const array = new (checkKind(kind))(1)
  if (typeof value !== 'number') refuse(kind, value)
  array[0] = value as never
  return array[0] === value ? (value as never) : refuse(kind, value)
}

/** Atomic reads and writes. They throw the errors of other accesses, and refuse memory whose buffer is not aligned. */
export abstract class AtomicAccess extends AlignedAccess {
  /** Reads a value atomically. */
  atomicLoad<Kind extends AtomicKind>(kind: Kind, byteOffset: number): AtomicValue<Kind> {
    const [array, index] = place(this, kind, byteOffset, false)
    return Atomics.load(array, index) as AtomicValue<Kind>
  }

  /** Writes a value atomically. */
  atomicStore<Kind extends AtomicKind>(kind: Kind, byteOffset: number, value: AtomicValue<Kind>): void {
    const checked = operand(kind, value)
    const [array, index] = place(this, kind, byteOffset, true)
    Atomics.store(array, index, checked)
  }

  /** Replaces a value by the result of an operation, atomically. @returns the old value. */
  atomicUpdate<Kind extends AtomicKind>(
    kind: Kind,
    byteOffset: number,
    operation: AtomicOperation,
    value: AtomicValue<Kind>,
  ): AtomicValue<Kind> {
    const checked = operand(kind, value)
    const [array, index] = place(this, kind, byteOffset, true)
    return Atomics[checkWord(operation, operations, 'operation')](array, index, checked) as AtomicValue<Kind>
  }

  /** Replaces a value if it equals `expected`, atomically. @returns the old value. */
  atomicCompareExchange<Kind extends AtomicKind>(
    kind: Kind,
    byteOffset: number,
    expected: AtomicValue<Kind>,
    replacement: AtomicValue<Kind>,
  ): AtomicValue<Kind> {
    const [before, after] = [operand(kind, expected), operand(kind, replacement)]
    const [array, index] = place(this, kind, byteOffset, true)
    return Atomics.compareExchange(array, index, before, after) as AtomicValue<Kind>
  }

  /**
   * Blocks this thread while the value equals `expected`, for at most `timeout` milliseconds.
   *
   * @throws {ArgumentError} if the memory is not shared, because no other thread could wake this one.
   */
  atomicWait<Kind extends 'int32' | 'int64'>(
    kind: Kind,
    byteOffset: number,
    expected: AtomicValue<Kind>,
    timeout: number = Infinity,
  ): 'ok' | 'not-equal' | 'timed-out' {
    checkWord(kind, ['int32', 'int64'], 'kind')
    const checked = operand(kind, expected)
    if (typeof timeout !== 'number' || !(timeout >= 0)) {
      throw wrongType('timeout', 'a number of milliseconds from 0', timeout)
    }
    const [array, index] = place(this, kind, byteOffset, false)
    if (!(array.buffer instanceof SharedArrayBuffer)) {
      throw new ArgumentError('only memory of a shared scope can be waited on', {
        hint: 'Allocate it in a scope of NativeScope.ofShared().',
      })
    }
    return Atomics.wait(array, index, checked, timeout)
  }

  /** Wakes threads that wait for this value. @returns the number of threads that were woken. */
  atomicNotify(kind: 'int32' | 'int64', byteOffset: number, count: number = Infinity): number {
    checkWord(kind, ['int32', 'int64'], 'kind')
    const most = count === Infinity ? count : checkSize(count, 'count', 'threads')
    const [array, index] = place(this, kind, byteOffset, false)
    return Atomics.notify(array, index, most)
  }
}
