import { dtypes, type NativeAllocator, type Tensor, tensor } from '@tenon/core'

/** One tensor of random bits for each element type, and two for those of less than a byte: one with packed elements. */
export function elementSamples(allocator: NativeAllocator): Tensor[] {
  return dtypes.flatMap(({ name, bits }) =>
    (bits < 8 ? (['element', 'packed'] as const) : ([undefined] as const)).map((packing) => {
      const options = packing === undefined ? { allocator } : { allocator, packing }
      const x = tensor(name, [3, 5], undefined, options) as Tensor
      const mask = packing === 'element' ? 2 ** bits - 1 : 255
      const isNarrow = name === 'bool'
      const bytes = Uint8Array.from(
        { length: x.type.byteSize },
        (_, i) => ((i * 37 + 11) % 251) & (isNarrow ? 1 : mask),
      )
      x.block.bytes.set(bytes, x.base)
      return x
    }),
  )
}
