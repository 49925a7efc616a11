import { describe, expect, it } from 'vitest'
import { StringTensor, TensorLimitError } from '../src/index.ts'
import { bytesOf, hex, memory } from './helpers.ts'
import { aliased } from './aliased.ts'

const over = (text: string, validate: 'strict' | 'lenient' = 'strict', shape?: number[]): StringTensor =>
  StringTensor.ofSegment(memory(hex(text)), { layout: 'tflite', abi: 'le64', validate, ...(shape && { shape }) })

describe('the TFLite layout', () => {
  it('a tensor without elements has eight bytes', () => {
    const tensor = StringTensor.from([], { layout: 'tflite', abi: 'le64' })
    expect(bytesOf(tensor.segment)).toEqual(hex('00000000 08000000'))
    expect(over('00000000 08000000').toArray()).toEqual([])
    expect(over('', 'lenient').toArray()).toEqual([])
    expect(() => over('')).toThrow(/tflite-header.*8 bytes/)
    // TFLite's readers find no strings after a count of zero, and look at nothing else.
    for (const bytes of ['00000000', '00000000 00000000', '00000000 ffffffff ff']) {
      const empty = over(bytes, 'lenient')
      expect([empty.length, empty.toArray(), empty.indexOf('a'), empty.to('tf').length]).toEqual([0, [], -1, 0])
      expect(() => over(bytes)).toThrow(/tflite-(header|range)/)
    }
    expect(() => over('00000000', 'lenient', [1])).toThrow(/table-size|tflite-count/)
    expect(() => over('01000000', 'lenient')).toThrow(/tflite-count/)
  })

  it('the first string starts right behind the header', () => {
    const tensor = StringTensor.from(['ab', '', 'c'], { layout: 'tflite', abi: 'le64' })
    expect(bytesOf(tensor.segment)).toEqual(hex('03000000 14000000 16000000 16000000 17000000 6162 63'))
    const big = StringTensor.from(['ab'], { layout: 'tflite', abi: 'be32' })
    expect(bytesOf(big.segment)).toEqual(hex('00000001 0000000c 0000000e 6162'))
    const later = '01000000 0d000000 0e000000 ff 61'
    expect(() => over(later)).toThrow(/tflite-first.*12.*13/)
    expect(over(later, 'lenient').toArray()).toEqual(['a'])
  })

  it('the last offset is the end of the buffer', () => {
    expect(() => over('01000000 0c000000 0d000000 61 62')).toThrow(/tflite-total.*14.*13/)
  })

  it('a tensor of more than 2^31 - 1 bytes is refused before anything is written', () => {
    // 2048 views of the same MiB have 2^31 bytes in little memory.
    const { tensor, allocations } = aliased(2048, 2 ** 20)
    expect(() => tensor.to('tflite', { allocator: allocations })).toThrow(TensorLimitError)
    expect(() => tensor.to('tflite', { allocator: allocations })).toThrow(/total-limit.*2147483647/)
    expect(allocations.count).toBe(0)
    const exact = aliased(1, 2 ** 31 - 1 - 12, true)
    // The measured size is just within the limit, so only the allocator refuses.
    expect(() => exact.tensor.to('tflite', { allocator: exact.allocations })).toThrow('2147483647 bytes were requested')
    const large = aliased(1, 2 ** 31 - 12, true)
    expect(() => large.tensor.to('tflite', { allocator: large.allocations })).toThrow(/total-limit/)
  })

  it('a count that exceeds every header is refused', () => {
    expect(() => over('ffffff7f 08000000', 'lenient', [0])).toThrow(/tflite-count/)
    expect(() => over('feffff7f 08000000', 'lenient', [0])).toThrow(/tflite-count/)
    expect(() => over('ffffffff 08000000', 'lenient')).toThrow(/tflite-count/)
  })

  it('the checks of the flex delegate and the count of elements hold', () => {
    expect(() => over('000000', 'lenient')).toThrow(/tflite-header/)
    expect(() => over('01000000 0c000000', 'lenient')).toThrow(/tflite-count/)
    expect(() => over('01000000 08000000 0c000000', 'lenient')).toThrow(/tflite-range.*element 0.*got 8/)
    expect(() => over('01000000 0d000000 0c000000', 'lenient')).toThrow(/tflite-range/)
    expect(() => over('01000000 0c000000 ff000000', 'lenient')).toThrow(/tflite-range.*255/)
    expect(() => over('01000000 0c000000 0d000000 61', 'lenient', [2])).toThrow(/table-size|tflite-count/)
    expect(() => over('02000000 10000000 10000000 10000000', 'lenient', [1])).toThrow(/tflite-count.*count 1.*got 2/)
    expect(over('02000000 10000000 10000000 10000000', 'strict', [2, 1]).shape).toEqual([2, 1])
  })

  it('lenient readers accept a buffer that is longer than its strings', () => {
    expect(over('01000000 0c000000 0d000000 61 62 63', 'lenient').toArray()).toEqual(['a'])
  })

  it('negative and decreasing offsets are refused', () => {
    expect(() => over('01000000 0c000000 ffffffff 61', 'lenient')).toThrow(/tflite-range/)
    expect(() => over('02000000 12000000 11000000 12000000 6161', 'lenient')).toThrow(
      /tflite-order.*element 1: .*17.*18/,
    )
  })
})
