import {
  ArgumentError,
  ArgumentRangeError,
  BoundsError,
  gcAllocator,
  ScopeClosedError,
  Segment,
  type NativeAllocator,
} from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { decodeStruct, encodeStruct, InvalidTextError, StringTensor, tstringMove, type Layout } from '../src/index.ts'
import { encodeVarint } from '../src/layouts/varint.ts'
import { startOf } from '../src/memory/regions.ts'
import { awkward, bytesOf, everyLayout, hex, memory } from './helpers.ts'
import { Lifetime } from './lifetime.ts'

const words = ['zero', 'one', 'two', 'a string that is longer than a struct', 'žluťoučký kůň', '']

const host = { layout: 'tf', abi: 'le64' } as const
const viewed = { type: 'view', size: 1n, pointer: 16n, owner: 0n } as const

describe('from', () => {
  it('makes tables with 24 bytes for each string, aligned to 64', () => {
    const tensor = StringTensor.from(words, { shape: [2, 3] })
    expect([tensor.length, tensor.shape, tensor.layout, tensor.storage]).toEqual([6, [2, 3], 'tf', 'arena'])
    expect([tensor.segment.byteSize, startOf(tensor.segment) % 64]).toEqual([144, 0])
    expect(tensor.toArray()).toEqual(words)
    expect(words.map((_, i) => tensor.byteLength(i))).toEqual(words.map((word) => Buffer.byteLength(word)))
  })

  it.each(everyLayout)('%s: supports scalars, several axes and empty tensors', (layout) => {
    const scalar = StringTensor.from(['alone'], { layout, shape: [] })
    expect([scalar.length, scalar.shape, scalar.get(0), startOf(scalar.segment) % 64]).toEqual([1, [], 'alone', 0])
    const empty = StringTensor.from([], { layout, shape: [3, 0] })
    expect([empty.length, empty.shape, empty.toArray()]).toEqual([0, [3, 0], []])
    expect(empty.segment.byteSize).toBe(layout === 'tflite' ? 8 : 0)
    expect(empty.to('tf').to(layout).length).toBe(0)
    expect([empty.indexOf(''), empty.indexOfInvalid(), empty.hashes().length]).toEqual([-1, -1, 0])
    expect(StringTensor.ofSegment(empty.segment, { layout, shape: [0] }).toArray()).toEqual([])
  })

  it('writes every length and character width without touching neighbours', () => {
    const lengths = [...Array.from({ length: 40 }, (_, i) => i), 1000, 40_000, 90_000, 100_000]
    const texts = ['a', 'é', '語', '😀'].flatMap((character) =>
      lengths.flatMap((length) => [character.repeat(length), `${'b'.repeat(length)}${character}`, 'c']),
    )
    const tensor = StringTensor.from(texts)
    expect(tensor.toArray()).toEqual(texts)
    texts.forEach((text, i) => {
      const at = tensor.segment.base + 24 * i
      const struct = tensor.segment.block.bytes.subarray(at, at + 24)
      const size = Buffer.byteLength(text)
      expect([i, tensor.type(i), struct.subarray(size <= 22 ? 1 + size : 16).every((byte) => byte === 0)]).toEqual([
        i,
        size <= 22 ? 'small' : 'view',
        true,
      ])
    })
  })

  it('takes any iterable', () => {
    expect(StringTensor.from(new Set(['a', 'b', 'a'])).toArray()).toEqual(['a', 'b'])
    expect(StringTensor.from(new Map([['a', 1]]).keys(), { layout: 'tflite' }).toArray()).toEqual(['a'])
    function* numbered(): Generator<string, void, undefined> {
      for (let i = 0; i < 100; i++) yield `string ${i}`
    }
    expect(StringTensor.from(numbered(), { shape: [10, 10] }).get(99)).toBe('string 99')
    expect(StringTensor.from(StringTensor.from(words)).toArray()).toEqual(words)
    for (const value of ['abc', 7, null, undefined, {}, () => 'a']) {
      expect(() => StringTensor.from(value as never)).toThrow(
        /strings must be an array or another iterable object, got/,
      )
    }
    expect(() => StringTensor.from(Uint8Array.of(1) as never)).toThrow(
      /element 0 must be a string or a Uint8Array, got 1/,
    )
  })

  it('accepts memory that is not zeroed', () => {
    const dirty: NativeAllocator = {
      allocate(byteSize, byteAlignment) {
        const segment = gcAllocator.allocate(byteSize, byteAlignment)
        const view = segment.view()
        new Uint8Array(view.buffer, view.byteOffset, byteSize).fill(0xff)
        return segment
      },
    }
    for (const layout of everyLayout) {
      const clean = bytesOf(StringTensor.from(awkward, { layout, storage: 'packed' }).segment)
      expect(bytesOf(StringTensor.from(awkward, { layout, storage: 'packed', allocator: dirty }).segment)).toEqual(
        clean,
      )
    }
    expect(StringTensor.from(words, { allocator: dirty }).toArray()).toEqual(words)
    expect(bytesOf(StringTensor.from(['abc'], { allocator: dirty }).segment)).toEqual(hex('0c 616263 00*20'))
  })

  it('writes strings of every size and script across the ends of chunks', () => {
    const units = ['x', 'é', '語', '😀']
    const strings = Array.from({ length: 4000 }, (_, i) => units[i % 4]!.repeat(i % 97))
    strings.push('x'.repeat(300_000), '語'.repeat(200_000), 'é'.repeat(87_382), 'y')
    for (const layout of everyLayout) expect(StringTensor.from(strings, { layout }).toArray()).toEqual(strings)
  })

  it('refuses other values than strings, a shape of another count and invalid options', () => {
    expect(() => StringTensor.from('abc' as never)).toThrow(ArgumentError)
    expect(() => StringTensor.from(['a', 7 as never])).toThrow(/element 1 must be a string or a Uint8Array, got 7/)
    expect(() => StringTensor.from(['a', null as never], { layout: 'tflite' })).toThrow(/element 1 must be a string/)
    expect(() => StringTensor.from(['a'], { shape: [2] })).toThrow(
      /the element count of shape must be 1, got 2 for \[2\]/,
    )
    expect(() => StringTensor.from(['a'], { shape: [1.5] })).toThrow(RangeError)
    expect(() => StringTensor.from(['a'], { layout: 'utf8' as never })).toThrow(/layout must be one of tf, rfc16/)
    expect(() => StringTensor.from(['a'], { abi: 'le16' as never })).toThrow(/abi must be one of/)
    expect(() => StringTensor.from(['a'], { storage: 'heap' as never })).toThrow(/storage must be/)
    expect(() => StringTensor.from(['a'], { layout: 'tflite', storage: 'arena' })).toThrow(
      /storage must be 'packed' for tflite on le64, got 'arena'\n.*no structs/,
    )
    expect(() => StringTensor.from(['a'], { abi: 'be32', storage: 'arena' })).toThrow(
      /storage must be 'packed' for tf on be32, got 'arena'\n.*pointers of the ABI le64/,
    )
    expect(() => StringTensor.from(['a'], { invalid: 'ignore' as never })).toThrow(/invalid must be/)
  })
})

describe('text that UTF-8 cannot represent', () => {
  it('follows the policy for lone surrogates', () => {
    const lone = 'a\ud800b, and more than fits into a struct'
    expect(StringTensor.from(['\udc00', lone]).toArray()).toEqual(['\ufffd', lone.replace('\ud800', '\ufffd')])
    expect(() => StringTensor.from(['ok', lone], { invalid: 'throw' })).toThrow(InvalidTextError)
    expect(() => StringTensor.from(['ok', lone], { invalid: 'throw', layout: 'tflite' })).toThrow(
      /element 1 must not have a lone surrogate/,
    )
    expect(() => StringTensor.from(['é', '語'], { invalid: 'latin1' })).toThrow(/element 1.*above U\+00FF/)
    expect(Uint8Array.from(StringTensor.from(['é'], { invalid: 'latin1' }).bytes(0))).toEqual(hex('e9'))
    expect(StringTensor.from(['é'.repeat(30)], { invalid: 'throw' }).get(0)).toBe('é'.repeat(30))
  })

  it('follows the policy for bytes that are not UTF-8', () => {
    const tensor = StringTensor.from([hex('61 ff 62'), 'é', hex('eda080')])
    expect(tensor.get(0)).toBe('a\ufffdb')
    expect(tensor.get(0, { invalid: 'latin1' })).toBe('aÿb')
    expect(tensor.get(1, { invalid: 'latin1' })).toBe('é')
    expect(() => tensor.get(0, { invalid: 'throw' })).toThrow(/element 0 must be valid UTF-8/)
    expect(() => tensor.toArray({ invalid: 'throw' })).toThrow(InvalidTextError)
    expect(tensor.toArray({ invalid: 'latin1' })).toEqual(['aÿb', 'é', 'í\u00a0\u0080'])
    expect([tensor.indexOfInvalid(), tensor.indexOfInvalid(1), tensor.slice(0, 2).indexOfInvalid(1)]).toEqual([
      0, 2, -1,
    ])
  })

  it('keeps NUL and BOM as ordinary characters', () => {
    for (const layout of everyLayout) {
      const tensor = StringTensor.from(['\ufeffbom', 'a\0b', '\0'], { layout })
      expect(tensor.toArray()).toEqual(['\ufeffbom', 'a\0b', '\0'])
      expect(tensor.toArray({ slices: true })).toEqual(['\ufeffbom', 'a\0b', '\0'])
    }
  })
})

describe('elements', () => {
  it.each(everyLayout)('%s: are read, searched and compared as bytes', (layout) => {
    const tensor = StringTensor.from(words, { layout })
    expect([tensor.get(4), tensor.get(5)]).toEqual(['žluťoučký kůň', ''])
    expect(Buffer.from(tensor.bytes(4)).toString()).toBe('žluťoučký kůň')
    expect([
      tensor.equals(1, 'one'),
      tensor.equals(1, 'on'),
      tensor.equals(5, ''),
      tensor.equals(1, hex('6f6e65')),
    ]).toEqual([true, false, true, true])
    expect([tensor.indexOf('two'), tensor.indexOf('two', 3), tensor.indexOf('three'), tensor.indexOf('')]).toEqual([
      2, -1, -1, 5,
    ])
    expect([tensor.compare(1, 2), tensor.compare(2, 'one'), tensor.compare(2, 2)]).toEqual([-1, 1, 0])
    expect([...tensor.compareAll('one')]).toEqual([1, 0, 1, -1, 1, -1])
    expect([...tensor.compareAll(tensor.to('tflite'))]).toEqual([0, 0, 0, 0, 0, 0])
    expect([...tensor]).toEqual(words)
    expect([...tensor.entries()].at(1)).toEqual([1, 'one'])
    expect([...tensor.chunks(4)]).toEqual([words.slice(0, 4), words.slice(4)])
    for (const size of [0, -1, 1.5]) expect(() => tensor.chunks(size)).toThrow(ArgumentRangeError)
    expect(tensor.tensor().dtype).toBe('uint8')
  })

  it('throw BoundsError for an index that does not exist', () => {
    const tensor = StringTensor.from(words)
    for (const index of [-1, 6, 0.5, NaN, 2 ** 32]) expect(() => tensor.get(index)).toThrow(BoundsError)
    for (const index of ['0', 0n, null, undefined, {}, Symbol('0')]) {
      expect(() => tensor.get(index as never)).toThrow(ArgumentError)
    }
    expect(() => tensor.get(0n as never)).toThrow('index must be a number, got 0n')
    expect(() => tensor.gather([0, 6])).toThrow(/indices\[1\]/)
    expect(() => tensor.indexOf('a', -1)).toThrow(RangeError)
    expect(() => tensor.hash(0, -1)).toThrow(/seed/)
    expect(() => tensor.compareAll(StringTensor.from(['a']))).toThrow(/must have 6 strings/)
  })

  it('are viewed without a copy by bytes()', () => {
    const tensor = StringTensor.from(['abc', 'd'.repeat(40)])
    tensor.bytes(1)[0] = 0x41
    expect(tensor.get(1)).toBe('A' + 'd'.repeat(39))
    const { block, base, byteSize } = tensor.to('tflite').segment
    const readOnly = StringTensor.ofSegment(new Segment(block, base, byteSize, 1), { layout: 'tflite' })
    readOnly.bytes(1)[0] = 0x42
    expect(readOnly.get(1)).toBe('A' + 'd'.repeat(39))
  })

  it('are the same text when cut out of larger strings', () => {
    const strings = Array.from({ length: 5000 }, (_, i) => (i % 3000 === 7 ? `é${i}` : `string number ${i}`))
    expect(StringTensor.from(strings).toArray({ slices: true })).toEqual(strings)
  })
})

describe('invalid arguments', () => {
  it.each<[string, () => unknown, RegExp]>([
    [
      'a size with a fraction',
      () => encodeStruct({ type: 'offset', size: 1.5, offset: 0, count: 0 }, host),
      /whole number/,
    ],
    ['a word as a number', () => encodeStruct({ ...viewed, size: 1 as never }, host), /must be a bigint, got 1/],
    ['a missing owner', () => encodeStruct({ ...viewed, owner: undefined as never }, host), /owner must be a bigint/],
    ['bytes as text', () => encodeStruct({ type: 'small', bytes: 'abc' as never }, host), /bytes must be a Uint8Array/],
    [
      'a layout without structs',
      () => decodeStruct(new Uint8Array(24), { ...host, layout: 'tflite' as never }),
      /layout must/,
    ],
    ['an array instead of bytes', () => decodeStruct([] as never, host), /bytes must be a Uint8Array/],
    ['2^64', () => encodeVarint(2n ** 64n), /from 0 to 2\^64 - 1, got 18446744073709551616/],
    [
      'a layout without PREALLOC',
      () => StringTensor.ofCapacity(1, 8, { layout: 'tf' as never }),
      /layout must be one of rfc16, rfc24, got "tf"/,
    ],
    [
      'missing options',
      () => StringTensor.ofSegment(memory('bytes'), undefined as never),
      /layout must be one of tf, rfc16, rfc24, legacy, tflite, got undefined/,
    ],
  ])('%s', (_, use, message) => {
    expect(use).toThrow(message)
    expect(use).toThrow(ArgumentError)
  })
})

describe('options', () => {
  const strings = StringTensor.from(['a'])
  const options = { unknown: 1 } as never
  const struct = encodeStruct({ type: 'small', bytes: hex('61') }, host)

  it.each<[string, () => unknown]>([
    ['from()', () => StringTensor.from(['a'], options)],
    ['ofSegment()', () => StringTensor.ofSegment(strings.segment, options)],
    ['open()', () => StringTensor.open('words.bin', options)],
    ['ofArrowUtf8()', () => StringTensor.ofArrowUtf8(struct, Int32Array.of(0), options)],
    ['ofCapacity()', () => StringTensor.ofCapacity(1, 8, options)],
    ['get()', () => strings.get(0, options)],
    ['set()', () => strings.set(0, 'b', options)],
    ['toArray()', () => strings.toArray(options)],
    ['to()', () => strings.to('tflite', options)],
    ['gather()', () => strings.gather([0], options)],
    ['toArrowUtf8()', () => strings.toArrowUtf8(options)],
    ['toArrowUtf8View()', () => strings.toArrowUtf8View(options)],
    ['ofArrowUtf8View()', () => StringTensor.ofArrowUtf8View(struct, [], options)],
    ['encodeStruct()', () => encodeStruct({ type: 'small', bytes: struct }, options)],
    ['decodeStruct()', () => decodeStruct(struct, options)],
    ['tstringMove()', () => tstringMove(strings.segment, strings.segment, options)],
  ])('%s refuses an unknown option', (_, use) => {
    expect(use).toThrow(ArgumentError)
    expect(use).toThrow(/must not have the option "unknown"/)
  })

  it('suggests the option that a misspelled name resembles', () => {
    expect(() => StringTensor.from(['a'], { layuot: 'tf' } as never)).toThrow(/"layuot".*\n.*layout/)
  })
})

describe('close()', () => {
  it('throws ScopeClosedError if the tensor is closed already, and disposal does not', () => {
    const tensor = StringTensor.from(words, { storage: 'malloc' })
    tensor.close()
    expect(() => tensor.close()).toThrow(ScopeClosedError)
    tensor[Symbol.dispose]()
  })

  it('leaves memory of the allocator and the tensor of a slice alone', () => {
    const tensor = StringTensor.from(words)
    tensor.close()
    expect(tensor.toArray()).toEqual(words)
    using owned = StringTensor.from(words, { storage: 'malloc' })
    owned.slice(1).close()
    expect(owned.toArray()).toEqual(words)
  })
})

describe('lifetimes', () => {
  it.each([...everyLayout])('%s: a tensor ends with its memory', (layout: Layout) => {
    const lifetime = new Lifetime()
    const tensor = StringTensor.from(words, { layout, allocator: lifetime })
    expect(tensor.toArray()).toEqual(words)
    const view = tensor.bytes(0)
    lifetime.close()
    const uses = [
      (): unknown => tensor.get(0),
      (): unknown => tensor.bytes(3),
      (): unknown => tensor.toArray(),
      (): unknown => tensor.to('tf'),
      (): unknown => tensor.slice(0, 2),
      (): unknown => tensor.indexOf('a'),
      (): unknown => tensor.toArrowUtf8(),
      (): unknown => tensor.byteLength(0),
      (): unknown => tensor.hashes(),
      (): unknown => StringTensor.ofSegment(tensor.segment, { layout, shape: [6] }),
    ]
    for (const use of uses) expect(use).toThrow(ScopeClosedError)
    expect(view.length).toBe(0)
  })

  it.each(everyLayout)('%s: a tensor throws ScopeClosedError after its buffer was transferred away', (layout) => {
    const tensor = StringTensor.from(words, { layout, storage: 'packed' })
    const bytes = tensor.bytes(3)
    ;(bytes.buffer as ArrayBuffer).transfer()
    const uses = [
      (): unknown => tensor.get(0),
      (): unknown => tensor.bytes(3),
      (): unknown => tensor.byteLength(3),
      (): unknown => tensor.equals(5, ''),
      (): unknown => tensor.hash(0),
      (): unknown => tensor.toArray(),
      (): unknown => tensor.to('tf'),
      (): unknown => tensor.indexOf('a'),
    ]
    for (const use of uses) expect(use).toThrow(ScopeClosedError)
  })

  it('keeps one hundredth of the memory alive if one string in a hundred is kept', () => {
    const tensor = StringTensor.from(Array.from({ length: 50_000 }, (_, i) => `string number ${i} `.repeat(10)))
    const heap = (): number => {
      globalThis.gc!()
      globalThis.gc!()
      return process.memoryUsage().heapUsed
    }
    const before = heap()
    let all: string[] | undefined = tensor.toArray()
    const whole = heap() - before
    const kept = all.filter((_, i) => i % 100 === 0)
    all = undefined
    const rest = heap() - before
    expect(kept.length).toBe(500)
    expect(rest).toBeLessThan(whole / 20)
  })
})
