import { gcAllocator } from '@tenon/core'
import { releaseOf } from './peer.ts'

/** Pages behind the structs and buffers of a test, so that sizes that are wrong by a little lead to memory. */
const SIZE = 2 ** 25

/** Memory in which hostile structs are built, over and over. */
export class Arena {
  readonly #segment = gcAllocator.allocate(SIZE, 64)
  readonly view: DataView = this.#segment.view()
  readonly base: bigint = this.#segment.address
  #end = 0

  /** Forgets everything. */
  reset(): void {
    this.#end = 0
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
  offsets.length === 0 ? 0n : arena.address(arena.words(offsets.map((offset) => arena.address(offset))))

/** Builds a valid column of a format with `rows` elements, of which every third is null. `sizes` are those of its buffers behind the bitmap. */
export function build(
  arena: Arena,
  format: string,
  rows: number,
  buffers: readonly ArrayBufferView[],
  children: readonly Built[],
): Built {
  const copies = buffers.map((buffer) => {
    const at = arena.take(buffer.byteLength)
    const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    for (const [i, byte] of bytes.entries()) arena.view.setUint8(at + i, byte)
    return at
  })
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
