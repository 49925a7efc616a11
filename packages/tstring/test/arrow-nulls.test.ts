import { ArgumentError, ScopeClosedError } from '@tenon/core'
import { LargeUtf8, makeData, makeVector, Utf8, Utf8View, vectorFromArray, type Data } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { MalformedTensorError, StringTensor } from '../src/index.ts'
import { everyLayout } from './helpers.ts'

const long = 'longer than the twelve bytes of a view'
const strings = ['a', null, '', long, null, 'žluť', 'thirteen byte', 'twelve bytes', null, `${long} and a struct`, '😀']
const texts = strings.map((text) => text ?? '')

/** The one chunk of a vector. */
const dataOf = <Type extends Utf8 | LargeUtf8 | Utf8View>(type: Type, from = 0): Data<Type> =>
  vectorFromArray(strings, type).slice(from).data[0]! as unknown as Data<Type>

/** The options for the nulls of Arrow's data. */
const nullsOf = ({ nullBitmap, offset }: Data): { validity: Uint8Array; validityOffset: number } => ({
  validity: nullBitmap,
  validityOffset: offset,
})

describe('nulls', () => {
  it.each(everyLayout)('%s: are empty strings, and go back to Arrow with their bitmap', (layout) => {
    for (const type of [new Utf8(), new LargeUtf8()]) {
      for (const from of [0, 1, 3, 9]) {
        const data = dataOf(type, from)
        const nulls = nullsOf(data)
        const options = { layout, length: data.length, storage: 'packed', ...nulls } as const
        const tensor = StringTensor.ofArrowUtf8(data.values, data.valueOffsets, options)
        expect(tensor.toArray()).toEqual(texts.slice(from))
        const large = type instanceof LargeUtf8
        const out = tensor.toArrowUtf8({ large, ...nulls })
        expect(out.nullCount).toBe(strings.slice(from).filter((text) => text === null).length)
        const back = makeData({
          type: type as Utf8,
          length: out.length,
          nullCount: out.nullCount,
          nullBitmap: out.validity,
          valueOffsets: out.offsets as Int32Array,
          data: out.data,
        })
        expect(makeVector(back).toArray()).toEqual(strings.slice(from))
      }
    }
  })

  it('hide the bytes that Arrow has for them', () => {
    const data = Buffer.from('secretb')
    const offsets = Int32Array.of(0, 6, 7)
    const borrowed = StringTensor.ofArrowUtf8(data, offsets, { validity: Uint8Array.of(0b10) })
    expect([borrowed.toArray(), borrowed.type(0), borrowed.to('tflite').get(0)]).toEqual([['', 'b'], 'small', ''])
    const out = borrowed.toArrowUtf8({ validity: Uint8Array.of(0xfe) })
    expect([out.nullCount, out.validity]).toEqual([1, Uint8Array.of(0b10)])
    expect(borrowed.toArrowUtf8()).toMatchObject({ nullCount: 0, validity: undefined })
    expect(borrowed.toArrowUtf8({ validity: Uint8Array.of(0xff) })).toMatchObject({ nullCount: 0, validity: undefined })
  })

  it('and padding are not read', () => {
    const data = Buffer.from('ab')
    expect(StringTensor.ofArrowUtf8(data, Int32Array.of(0, 1, 2, 0, 0), { length: 2 }).toArray()).toEqual(['a', 'b'])
    expect(StringTensor.ofArrowUtf8(data, Int32Array.of(0, 1, 2), { length: 0 }).length).toBe(0)
    expect(() => StringTensor.ofArrowUtf8(data, Int32Array.of(0, 1, 2), { length: 3 })).toThrow(
      /length must be at most the 2 strings of the buffers/,
    )
    expect(() => StringTensor.ofArrowUtf8View(new Uint8Array(32), [], { length: 3 })).toThrow(/at most the 2 strings/)
  })

  it('need a bitmap with a bit for each element', () => {
    const offsets = new Int32Array(10)
    const of =
      (validity: unknown, validityOffset?: number): (() => unknown) =>
      () =>
        StringTensor.ofArrowUtf8(new Uint8Array(0), offsets, { validity: validity as Uint8Array, validityOffset })
    expect(of(Uint8Array.of(255))).toThrow(/validity must be a bitmap of at least 9 bits/)
    expect(of(Uint8Array.of(255, 1), 8)).toThrow(/at least 17 bits/)
    expect(of([1, 0])).toThrow(/validity must be a Uint8Array/)
    expect(of(Uint8Array.of(255, 255), -1)).toThrow(ArgumentError)
    expect(() => StringTensor.from(['a']).toArrowUtf8({ validity: new Uint8Array(0) })).toThrow(ArgumentError)
    expect(StringTensor.from(['a']).toArrowUtf8({ validity: new Uint8Array(1) }).nullCount).toBe(1)
  })
})

describe('Utf8View', () => {
  it.each(everyLayout)('%s: is read, and written for Arrow', (layout) => {
    const data = dataOf(new Utf8View())
    const nulls = nullsOf(data)
    const options = { layout, length: data.length, storage: 'packed', ...nulls } as const
    const tensor = StringTensor.ofArrowUtf8View(data.values, data.variadicBuffers, options)
    expect(tensor.toArray()).toEqual(texts)
    const out = tensor.toArrowUtf8View(nulls)
    const back = makeData({
      type: new Utf8View(),
      length: out.length,
      nullCount: out.nullCount,
      nullBitmap: out.validity,
      views: out.views,
      variadicBuffers: out.buffers,
    })
    expect(makeVector(back).toArray()).toEqual(strings)
  })

  it('is read without a copy of long strings', () => {
    const buffer = Buffer.alloc(100, 'x')
    const views = new Uint8Array(48)
    const words = new DataView(views.buffer)
    const set = (index: number, ...values: number[]): void =>
      values.forEach((value, k) => words.setInt32(16 * index + 4 * k, value, true))
    set(0, 20, 0, 1, 30)
    set(1, 50, 0, 0, 0)
    set(2, 13, 0, 0, 20)
    // Both buffers are parts of one, and one contains the other.
    const tensor = StringTensor.ofArrowUtf8View(views, [buffer.subarray(40), buffer], { shape: [3, 1] })
    buffer.write('changed', 40)
    expect([tensor.get(0), tensor.get(1), tensor.get(2), tensor.shape]).toEqual([
      `${'x'.repeat(10)}changedxxx`,
      `changed${'x'.repeat(43)}`,
      'x'.repeat(13),
      [3, 1],
    ])
    tensor.set(0, 'set')
    expect([tensor.get(0), tensor.to('tflite').toArray()[0]]).toEqual(['set', 'set'])
    const bytes = new Uint8Array(40).fill(0x41)
    set(0, 40, 0, 0, 0)
    const ends = StringTensor.ofArrowUtf8View(views.subarray(0, 16), [bytes])
    bytes.buffer.transfer()
    expect(() => ends.get(0)).toThrow(ScopeClosedError)
  })

  it('is refused if a view leads outside of the buffers', () => {
    const buffer = new Uint8Array(20)
    const of =
      (size: number, index: number, offset: number, budget?: number): (() => unknown) =>
      () => {
        const views = new Uint8Array(Int32Array.of(size, 0, index, offset).buffer)
        return StringTensor.ofArrowUtf8View(views, [buffer], budget === undefined ? {} : { budget }).get(0)
      }
    expect(of(20, 0, 0)()).toBe('\0'.repeat(20))
    for (const [size, index, offset] of [
      [21, 0, 0],
      [13, 0, 8],
      [13, 1, 0],
      [13, -1, 0],
      [13, 0, -1],
      [-1, 0, 0],
    ] as const) {
      expect(of(size, index, offset)).toThrow(MalformedTensorError)
    }
    expect(of(20, 0, 0, 19)).toThrow(/budget/)
    expect(() => StringTensor.ofArrowUtf8View(new Uint8Array(15), [])).toThrow(/views must be 16 bytes for each string/)
    expect(() => StringTensor.ofArrowUtf8View(new Uint8Array(16), buffer as never)).toThrow(/buffers must be an array/)
    expect(() => StringTensor.ofArrowUtf8View(new Uint8Array(16), ['a' as never])).toThrow(
      /buffers\[0\] must be a Uint8Array/,
    )
    expect(() => StringTensor.ofArrowUtf8View('a' as never, [])).toThrow(/views must be a Uint8Array/)
    expect(StringTensor.ofArrowUtf8View(new Uint8Array(0), []).toArrowUtf8View()).toMatchObject({
      length: 0,
      buffers: [],
    })
  })
})
