import { Segment } from '@tenon/core'
import { Block } from '@tenon/core/internal'
import { describe, expect, it } from 'vitest'
import { StringTensor, TensorLimitError } from '../src/index.ts'
import { aliased } from './aliased.ts'
import { awkward, bytesOf, hex, memory } from './helpers.ts'

const strings = ['short', 'l'.repeat(30), 'é'.repeat(20), '', 'm'.repeat(100)]
const packed = (inline: boolean): Uint8Array =>
  bytesOf(StringTensor.from(strings, { storage: 'packed', inline }).segment)
const over = (bytes: Uint8Array, count = strings.length, options = {}): StringTensor =>
  StringTensor.ofSegment(memory(bytes), { layout: 'tf', shape: [count], ...options })

/** Returns the same segment without the right to write. */
const readOnly = ({ block, base, byteSize }: Segment): Segment =>
  new Segment(new Block(block.gate, block.view, block.bytes, block.address), base, byteSize, 1)

describe('tensors of OFFSET', () => {
  it('the table needs a struct for each element, without integer overflow', () => {
    expect(() => over(hex('00*47'), 2)).toThrow(/table-size.*2 elements.*24 bytes.*47/)
    expect(() => over(hex('00*48'), 2 ** 32 - 1)).toThrow(/table-size/)
    expect(over(hex('00*48'), 2).toArray()).toEqual(['', ''])
  })

  it('only SMALL and OFFSET are accepted from outside', () => {
    for (const head of ['75', '77']) {
      for (const validate of ['strict', 'lenient'] as const) {
        expect(() => over(hex(`${head} 00*23`), 1, { validate })).toThrow(/struct-type.*element 0.*pointer/)
      }
    }
    expect(over(packed(true)).toArray()).toEqual(strings)
    expect(over(packed(false)).toArray()).toEqual(strings)
    expect(strings.map((_, i) => over(packed(false)).type(i))).toEqual(strings.map(() => 'offset'))
  })

  it('an OFFSET starts behind the table and ends within the bytes', () => {
    expect(() => over(hex('06 000000 17 000000 00*16 61'), 1)).toThrow(/offset-start.*24 bytes.*23/)
    expect(() => over(hex('0a 000000 18 000000 00*16 61'), 1)).toThrow(/offset-end.*25 bytes.*26/)
    expect(() => over(hex('06 000000 ffffffff 00*16 61'), 1)).toThrow(/offset-end.*4294967296/)
    expect(() => over(hex('feffffff ffffffff 00*16 61'), 1)).toThrow(/offset-end.*5368709118/)
    // An OFFSET that names its own struct would be a string inside the table.
    expect(() => over(hex('62 000000 00000000 00*16'), 1)).toThrow(/offset-start/)
  })

  it('the sum of the sizes has a budget', () => {
    // Three elements name the same ten bytes. Their 30 bytes fit into a budget of 82, but not of 29.
    const bytes = hex('2a 000000 48 000000 00*16 2a 000000 30 000000 00*16 2a 000000 18 000000 00*16 61*10')
    expect(over(bytes, 3).toArray()).toEqual(Array(3).fill('a'.repeat(10)))
    expect(() => over(bytes, 3, { budget: 29 })).toThrow(/budget.*element 2: .*the 9 bytes left.*got 10/)
    const bomb = Buffer.concat([
      ...Array.from({ length: 10 }, (_, i) =>
        hex(`a20f0000 ${(240 - 24 * i).toString(16).padStart(2, '0')} 000000 00*16`),
      ),
      hex('61*1000'),
    ])
    expect(() => over(bomb, 10)).toThrow(/budget/)
    expect(over(bomb, 10, { budget: 10_000 }).length).toBe(10)
  })

  it('strings may share bytes only if the tensor is not writable', () => {
    const bytes = hex('2a 000000 30 000000 00*16 2a 000000 18 000000 00*16 61*10')
    expect(over(bytes, 2).toArray()).toEqual(['a'.repeat(10), 'a'.repeat(10)])
    expect(() => over(bytes, 2, { writable: true })).toThrow(/overlap.*element 1: .*ends at 58, got 48/)
    const apart = hex('2a 000000 3a 000000 00*16 2a 000000 18 000000 00*16 61*10 62*10')
    const tensor = over(apart, 2, { writable: true })
    tensor.set(0, 'all that a struct hold')
    expect(tensor.toArray()).toEqual(['all that a struct hold', 'a'.repeat(10)])
    expect(() => StringTensor.ofSegment(readOnly(memory(apart)), { layout: 'tf', shape: [2], writable: true })).toThrow(
      /read-only/,
    )
  })

  it('packed bytes have the same strings at another address', () => {
    const bytes = packed(true)
    for (const alignment of [16, 64, 4096]) {
      const tensor = StringTensor.ofSegment(memory(bytes, alignment), { layout: 'tf', shape: [5] })
      expect([tensor.toArray(), tensor.to('tflite').toArray()]).toEqual([strings, strings])
    }
    const shifted = memory(Buffer.concat([hex('00'), bytes])).asSlice(1)
    expect(
      StringTensor.ofSegment(shifted, { layout: 'tf', shape: [5] })
        .to('legacy')
        .toArray(),
    ).toEqual(strings)
  })

  it('a single struct cannot be moved, so slices and selections rebase or convert', () => {
    for (const layout of ['tf', 'rfc16', 'rfc24'] as const) {
      for (const storage of ['packed', 'arena', 'malloc'] as const) {
        using tensor = StringTensor.from(awkward, { layout, storage })
        const part = tensor.slice(3, -4)
        expect(part.toArray({ invalid: 'latin1' })).toEqual(tensor.toArray({ invalid: 'latin1' }).slice(3, -4))
        using again = part.to(layout, { storage })
        expect(again.toArray({ invalid: 'latin1' })).toEqual(part.toArray({ invalid: 'latin1' }))
        using picked = tensor.gather([5, 1, 5, awkward.length - 1])
        const all = tensor.toArray({ invalid: 'latin1' })
        expect(picked.toArray({ invalid: 'latin1' })).toEqual([all[5], all[1], all[5], all.at(-1)])
      }
    }
  })
})

describe('limits', () => {
  it('an OFFSET string has at most 2^30 - 1 bytes', () => {
    const fits = aliased(1, 2 ** 30 - 1, true)
    expect(() => fits.tensor.to('tf', { storage: 'packed', allocator: fits.allocations })).toThrow(
      /bytes were requested/,
    )
    const large = aliased(1, 2 ** 30, true)
    expect(() => large.tensor.to('tf', { storage: 'packed', allocator: large.allocations })).toThrow(
      /string-limit.*1073741823.*1073741824/,
    )
    expect(large.allocations.count).toBe(0)
  })

  it('an OFFSET reaches 2^32 - 1 bytes', () => {
    const { tensor, allocations } = aliased(6, 2 ** 30 - 1, true)
    expect(() => tensor.to('rfc16', { allocator: allocations })).toThrow(TensorLimitError)
    expect(() => tensor.to('rfc16', { allocator: allocations })).toThrow(/distance-limit.*element 4/)
    expect(allocations.count).toBe(0)
  })

  it('Arrow Utf8 reaches 2^31 - 1 bytes', () => {
    const { tensor } = aliased(2, 2 ** 30, true)
    expect(() => tensor.toArrowUtf8()).toThrow(/total-limit/)
  })
})
