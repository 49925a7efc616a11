import { ScopeClosedError } from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { MalformedTensorError, StringTensor, type ArrowUtf8 } from '../src/index.ts'
import { everyLayout } from './helpers.ts'

const words = ['', 'a', 'hello', 'l'.repeat(50), 'é'.repeat(20), '']
const data = Buffer.from(words.join(''))
const ends = words.map((_, i) => Buffer.byteLength(words.slice(0, i + 1).join('')))
const utf8 = Int32Array.from([0, ...ends])
const largeUtf8 = BigInt64Array.from([0, ...ends], BigInt)

/** Reads the strings as Arrow does. */
const read = ({ length, offsets, data: bytes }: ArrowUtf8): string[] =>
  Array.from({ length }, (_, i) => Buffer.from(bytes.subarray(Number(offsets[i]), Number(offsets[i + 1]))).toString())

describe('Arrow', () => {
  it('is read and returned without a copy of the data', () => {
    for (const offsets of [utf8, largeUtf8]) {
      const bytes = Uint8Array.from(data)
      const tensor = StringTensor.ofArrowUtf8(bytes, offsets, { shape: [2, 3] })
      expect([tensor.toArray(), tensor.shape, tensor.type(2)]).toEqual([words, [2, 3], 'view'])
      bytes[1] = 0x48
      expect(tensor.get(2)).toBe('Hello')
      const out = tensor.toArrowUtf8()
      expect([out.data.buffer === bytes.buffer, read(out)[2]]).toEqual([true, 'Hello'])
      tensor.set(0, 'changed')
      expect(read(tensor.toArrowUtf8())).toEqual(tensor.toArray())
      expect(tensor.to('legacy').toArray()).toEqual(tensor.toArray())
    }
  })

  it('is read into every layout', () => {
    for (const layout of everyLayout) {
      expect(StringTensor.ofArrowUtf8(data, utf8, { layout, storage: 'packed' }).toArray()).toEqual(words)
    }
    // Slices of Arrow begin at any offset.
    expect(StringTensor.ofArrowUtf8(data, utf8.subarray(2)).toArray()).toEqual(words.slice(2))
    expect(StringTensor.ofArrowUtf8(data.subarray(0, 0), new Int32Array(0)).length).toBe(0)
    expect(StringTensor.ofArrowUtf8(data.subarray(0, 0), Int32Array.of(0)).length).toBe(0)
  })

  it('is returned from every layout', () => {
    for (const layout of everyLayout) {
      const tensor = StringTensor.from(words, { layout })
      expect(read(tensor.toArrowUtf8())).toEqual(words)
      const large = tensor.toArrowUtf8({ large: true })
      expect([read(large), large.offsets instanceof BigInt64Array]).toEqual([words, true])
    }
    const tflite = StringTensor.from(words, { layout: 'tflite' })
    expect(tflite.toArrowUtf8().data.buffer).toBe(tflite.segment.view().buffer)
    const packed = StringTensor.from(words, { storage: 'packed', inline: false })
    expect(packed.toArrowUtf8().data.buffer).toBe(packed.segment.view().buffer)
    const inline = StringTensor.from(words, { storage: 'packed' })
    expect(inline.toArrowUtf8().data.buffer).not.toBe(inline.segment.view().buffer)
    expect(read(StringTensor.from(['', '']).toArrowUtf8())).toEqual(['', ''])
    expect(read(StringTensor.from([]).toArrowUtf8())).toEqual([])
  })

  it('refuses hostile offsets', () => {
    const bad =
      (...offsets: number[]): (() => unknown) =>
      () =>
        StringTensor.ofArrowUtf8(data, Int32Array.from(offsets))
    expect(bad(0, data.length + 1)).toThrow(/arrow-range.*element 0/)
    expect(bad(0, 5, 4)).toThrow(/arrow-order.*element 1/)
    expect(bad(-1, 3)).toThrow(MalformedTensorError)
    expect(() => StringTensor.ofArrowUtf8(data, BigInt64Array.of(0n, 2n ** 62n))).toThrow(/arrow-range/)
    expect(() => StringTensor.ofArrowUtf8(data, utf8, { budget: 10 })).toThrow(/budget/)
    expect(() => StringTensor.ofArrowUtf8('abc' as never, utf8)).toThrow(/data must be a Uint8Array/)
    expect(() => StringTensor.ofArrowUtf8(data, [0, 1] as never)).toThrow(/offsets must be/)
    expect(() => StringTensor.ofArrowUtf8(new Uint8Array(new ArrayBuffer(8, { maxByteLength: 16 })), utf8)).toThrow(
      /resized/,
    )
  })

  it('gets no offsets that lead outside of a tensor, trusted or changed after the check', () => {
    const bytes = StringTensor.from(['XYZ', 'abc'], { layout: 'tflite' }).segment
    const checked = StringTensor.ofSegment(bytes, { layout: 'tflite' })
    const trusted = StringTensor.ofSegment(bytes, { layout: 'tflite', validate: 'trusted' })
    const { offsets } = checked.toArrowUtf8()
    for (const [at, offset] of [
      [4, -5],
      [8, -5],
      [8, 1e9],
      [12, 1e9],
      [12, 17],
      [8, 100],
    ] as const) {
      const before = bytes.view().getInt32(at, true)
      bytes.view().setInt32(at, offset, true)
      for (const tensor of [checked, trusted]) {
        for (const large of [false, true]) expect(() => tensor.toArrowUtf8({ large })).toThrow(MalformedTensorError)
      }
      expect([...offsets]).toEqual([16, 19, 22])
      bytes.view().setInt32(at, before, true)
    }
    expect(read(trusted.toArrowUtf8())).toEqual(['XYZ', 'abc'])
    const legacy = StringTensor.from(['XYZ'], { layout: 'legacy' }).segment
    legacy.view().setUint8(8, 100)
    const changed = StringTensor.ofSegment(legacy, { layout: 'legacy', shape: [1], validate: 'trusted' })
    expect(() => changed.toArrowUtf8()).toThrow(MalformedTensorError)
  })

  it('throws ScopeClosedError after the data was transferred away', () => {
    const bytes = Uint8Array.from(data)
    const tensor = StringTensor.ofArrowUtf8(bytes, utf8)
    bytes.buffer.transfer()
    expect(() => tensor.get(3)).toThrow(ScopeClosedError)
    expect(() => tensor.to('tflite')).toThrow(ScopeClosedError)
    expect(() => tensor.toArray()).toThrow(ScopeClosedError)
  })
})
