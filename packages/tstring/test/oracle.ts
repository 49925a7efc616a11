import { isUtf8 } from 'node:buffer'
import { encodeStruct } from '../src/index.ts'
import { encodeVarint } from '../src/layouts/varint.ts'
import type { Image } from '../src/image/image.ts'
import { readerOf } from '../src/image/reader-of.ts'
import { FORM, type Plan } from '../src/kernels/plan.ts'
import { hostAbi } from '../src/layouts/abi.ts'
import { smallCapacity, structSize, type StructLayout } from '../src/layouts/layout.ts'
import { checkTable } from '../src/tensor/of-segment.ts'
import { xxh32 } from './xxh32.ts'

// What the kernels in C must do, written for short tensors with the readers and encoders of single elements.

/** The bytes of every element, by the package's readers of single elements. */
function elementsOf(image: Image): Uint8Array[] {
  checkTable(image)
  const reader = readerOf(image)
  return Array.from({ length: image.count }, (_, i) => {
    reader.locate(i)
    return reader.view().slice()
  })
}

/** XXH32 of every element. */
export const hashes = (image: Image, seed: number): Uint32Array =>
  Uint32Array.from(elementsOf(image), (bytes) => xxh32(bytes, 0, bytes.length, seed))

/** The order of every element against the one at the same index. */
export const orders = (image: Image, other: Image): Int8Array => {
  const others = elementsOf(other)
  return Int8Array.from(elementsOf(image).map((bytes, i) => Buffer.compare(bytes, others[i]!)))
}

/** The first index from `from` on that matches, or the count. */
function firstIndex(image: Image, from: number, matches: (bytes: Uint8Array) => boolean): number {
  const index = elementsOf(image).findIndex((bytes, i) => i >= from && matches(bytes))
  return index < 0 ? image.count : index
}

/** The first element with these bytes. */
export const indexOf = (image: Image, needle: Uint8Array, from: number): number =>
  firstIndex(image, from, (bytes) => Buffer.compare(bytes, needle) === 0)

/** The first element that is not UTF-8. */
export const indexOfInvalid = (image: Image, from: number): number => firstIndex(image, from, (bytes) => !isUtf8(bytes))

/** A table of offsets: `count` + 1 numbers of `size` bytes, of which the legacy layout leaves out the last. */
function offsetsOf(lengths: readonly number[], size: 4 | 8, little: boolean, start = 0): Buffer {
  const table = Buffer.alloc(size * (lengths.length + 1))
  const view = new DataView(table.buffer, table.byteOffset, table.length)
  let at = start
  for (let i = 0; i <= lengths.length; at += lengths[i] ?? 0, i++) {
    if (size === 4) view.setUint32(4 * i, at, little)
    else view.setBigUint64(8 * i, BigInt(at), little)
  }
  return table
}

function structsOf(
  values: readonly Uint8Array[],
  plan: Plan,
  layout: StructLayout,
  addressOf: (index: number, at: number) => number,
): Buffer {
  const { abi, form, isInline } = plan
  const data: Uint8Array[] = []
  let at = 0
  const table = values.map((bytes, i) => {
    const { length: size } = bytes
    if (isInline && size <= smallCapacity(layout)) return encodeStruct({ type: 'small', bytes }, { layout, abi })
    const offset = structSize(layout) * (values.length - i) + at
    const pointer = BigInt(addressOf(i, at))
    if (form !== FORM.BORROWED) {
      data.push(bytes)
      at += size
    }
    if (form === FORM.OFFSET)
      return encodeStruct({ type: 'offset', size, offset, count: values.length }, { layout, abi })
    if (layout !== 'tf') return encodeStruct({ type: 'prealloc', size, capacity: size, pointer }, { layout, abi })
    return encodeStruct({ type: 'view', size: BigInt(size), pointer, owner: 0n }, { layout, abi })
  })
  return Buffer.concat([...table, ...data])
}

/**
 * The bytes of a converted tensor.
 *
 * @param addressOf returns the address of an element's bytes, for pointers: `at` is the offset in the target's data.
 */
export function convertedBytes(
  values: readonly Uint8Array[],
  plan: Plan,
  addressOf: (index: number, at: number) => number = () => 0,
): Buffer {
  const little = plan.abi.startsWith('le')
  const lengths = values.map(({ length }) => length)
  switch (plan.layout) {
    case 'legacy': {
      const rows = values.map((bytes) => Buffer.concat([encodeVarint(bytes.length), bytes]))
      const table = offsetsOf(
        rows.map(({ length }) => length),
        8,
        little,
      )
      return Buffer.concat([table.subarray(0, 8 * values.length), ...rows])
    }
    case 'tflite': {
      const count = offsetsOf([], 4, little, values.length)
      return Buffer.concat([count, offsetsOf(lengths, 4, little, 4 * (values.length + 2)), ...values])
    }
    case 'arrow32':
    case 'arrow64':
      return Buffer.concat([offsetsOf(lengths, plan.layout === 'arrow32' ? 4 : 8, hostAbi.startsWith('le')), ...values])
    default:
      return structsOf(values, plan, plan.layout, addressOf)
  }
}
