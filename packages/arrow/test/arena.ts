import { gcAllocator } from '@tenon/core'
import { releaseOf } from './peer.ts'

/** Structs are in the first half, and buffers in the second: each in a slot that is otherwise zero, so that lengths that are wrong lead to zeros. */
const SIZE = 2 ** 26
/** The pointers behind a list: numbers that are wrong by a little are at most as large. */
const BEHIND = 1024
const [SLOTS, SLOT, LARGEST] = [SIZE / 2, 2 ** 16, 2 ** 11]

/** Memory in which hostile structs are built, over and over. */
export class Arena {
  readonly #segment = gcAllocator.allocate(SIZE, 64)
  readonly view: DataView = this.#segment.view()
  readonly base: bigint = this.#segment.address
  #end = 0
  #slots = 1

  /** Forgets everything. */
  reset(): void {
    this.#end = 0
    this.#slots = 1
  }

  /** Memory of zeros. */
  get zeros(): bigint {
    return this.address(SLOTS)
  }

  /** Copies bytes to a slot, and returns its offset. */
  buffer({ buffer, byteOffset, byteLength }: ArrayBufferView): number {
    const at = SLOTS + SLOT * this.#slots++
    if (byteLength > LARGEST || at + SLOT > SIZE) throw new Error('a buffer must fit into its slot')
    const slot = new Uint8Array(this.view.buffer, this.view.byteOffset + at, LARGEST)
    slot.fill(0)
    slot.set(new Uint8Array(buffer, byteOffset, byteLength))
    return at
  }

  /** Takes zeroed bytes, and returns their offset. */
  take(byteSize: number): number {
    const at = this.#end
    this.#end += Math.ceil(byteSize / 8) * 8 + 8
    for (let i = at; i < this.#end; i += 8) this.view.setBigInt64(i, 0n, true)
    return at
  }

  address(offset: number): bigint {
    return this.base + BigInt(offset)
  }

  text(value: string): bigint {
    const at = this.take(value.length + 1)
    for (let i = 0; i < value.length; i++) this.view.setUint8(at + i, value.charCodeAt(i))
    return this.address(at)
  }

  /** Writes words, and returns their offset. */
  words(values: readonly (bigint | number)[]): number {
    const at = this.take(8 * values.length)
    for (const [i, value] of values.entries()) this.set(at, i, value)
    return at
  }

  /** Writes a list of pointers, behind which are many that are null, and returns its address. */
  list(values: readonly bigint[]): bigint {
    const at = this.take(8 * (values.length + BEHIND))
    for (const [i, value] of values.entries()) this.set(at, i, value)
    return this.address(at)
  }

  set(at: number, index: number, value: bigint | number): void {
    this.view.setBigInt64(at + 8 * index, BigInt.asIntN(64, BigInt(value)), true)
  }
}

/** The structs of a column: the offsets of each in the arena. */
export interface Built {
  readonly schema: number
  readonly array: number
}

const pointers = (arena: Arena, offsets: readonly number[]): bigint =>
  offsets.length === 0 ? 0n : arena.list(offsets.map((offset) => arena.address(offset)))

/** Builds a valid column of a format with `rows` elements, of which every third is null. `sizes` are those of its buffers behind the bitmap. */
export function build(
  arena: Arena,
  format: string,
  rows: number,
  buffers: readonly ArrayBufferView[],
  children: readonly Built[],
): Built {
  const copies = buffers.map((buffer) => arena.buffer(buffer))
  return {
    schema: arena.words([
      arena.text(format),
      arena.text('x'),
      0,
      2,
      children.length,
      pointers(
        arena,
        children.map(({ schema }) => schema),
      ),
      0,
      releaseOf.schema,
      0,
    ]),
    array: arena.words([
      rows,
      -1,
      0,
      buffers.length,
      children.length,
      pointers(arena, copies),
      pointers(
        arena,
        children.map(({ array }) => array),
      ),
      0,
      releaseOf.array,
      0,
    ]),
  }
}
