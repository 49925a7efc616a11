import { ArgumentError, gcAllocator, ReadOnlyError, ScopeClosedError } from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { StringTensor, TensorLimitError } from '../src/index.ts'
import { bytesOf, hex, memory } from './helpers.ts'
import { Lifetime } from './lifetime.ts'

const words = ['zero', 'one', 'two', 'a string that is longer than a struct', 'žluťoučký kůň', '']

describe('set', () => {
  it('changes an element in place or in the arena, which compact() moves together', () => {
    const tensor = StringTensor.from(words)
    tensor.set(0, 'a much longer string than it was before')
    tensor.set(3, 'short')
    tensor.set(1, tensor.bytes(0))
    expect([tensor.get(0), tensor.get(1), tensor.get(3)]).toEqual([
      'a much longer string than it was before',
      'a much longer string than it was before',
      'short',
    ])
    const before = tensor.toArray()
    tensor.compact()
    expect(tensor.toArray()).toEqual(before)
    tensor.set(5, 'x'.repeat(300_000))
    expect([tensor.byteLength(5), tensor.get(0)]).toEqual([300_000, before[0]])
    expect(bytesOf(tensor.segment).slice(3 * 24, 4 * 24)).toEqual(hex('14 73686f7274 00*18'))
  })

  it('gives a packed tensor an arena', () => {
    const packed = StringTensor.from(words, { storage: 'packed' })
    packed.set(0, 'a much longer string than it was before')
    expect([packed.type(0), packed.get(0), packed.get(3)]).toEqual([
      'view',
      'a much longer string than it was before',
      words[3],
    ])
    const foreign = StringTensor.from(words, { storage: 'packed', abi: 'be64' })
    foreign.set(0, 'short')
    expect(foreign.get(0)).toBe('short')
    expect(() => foreign.set(0, 'x'.repeat(23))).toThrow(/string-limit/)
  })

  it('writes no pointer into bytes from outside', () => {
    const { segment } = StringTensor.from(words, { storage: 'packed' })
    const tensor = StringTensor.ofSegment(segment, { layout: 'tf', shape: [6], writable: true })
    tensor.set(3, 'short')
    const before = bytesOf(segment)
    expect(() => tensor.set(0, 'x'.repeat(23))).toThrow(/string-limit.*at most 22 bytes, got 23/)
    expect(() => tensor.slice(1).set(0, 'x'.repeat(23))).toThrow(TensorLimitError)
    expect(bytesOf(segment)).toEqual(before)
    expect(tensor.toArray()).toEqual(words.with(3, 'short'))
    const rfc = StringTensor.from(words, { layout: 'rfc16' })
    const container = StringTensor.ofSegment(rfc.segment, { layout: 'rfc16', shape: [6], writable: true })
    container.set(3, 'y'.repeat(37))
    expect(rfc.get(3)).toBe('y'.repeat(37))
    expect(() => container.set(3, 'y'.repeat(38))).toThrow(/at most 37 bytes, got 38/)
  })

  it('follows the rules of the C library in a trusted tensor', () => {
    using owner = StringTensor.from(words, { storage: 'malloc' })
    const options = { layout: 'tf', shape: [6], validate: 'trusted', writable: true } as const
    const trusted = StringTensor.ofSegment(owner.segment, options)
    trusted.set(0, 'x'.repeat(23))
    trusted.set(3, 'short')
    expect([owner.type(0), owner.get(0), owner.type(3), owner.get(3)]).toEqual([
      'large',
      'x'.repeat(23),
      'small',
      'short',
    ])
  })

  it('changes a slice and the whole tensor together', () => {
    const long = 'a much longer string than it was before'
    for (const storage of ['arena', 'packed', 'malloc'] as const) {
      for (const layout of ['tf', 'rfc16', 'rfc24'] as const) {
        using tensor = StringTensor.from(words, { layout, storage })
        const part = tensor.slice(1, 4)
        part.set(0, long)
        tensor.set(2, `${long}, and longer`)
        tensor.slice(3).set(2, `${long} as well`)
        const expected = ['zero', long, `${long}, and longer`, ...words.slice(3, 5), `${long} as well`]
        expect(tensor.toArray()).toEqual(expected)
        expect(part.toArray()).toEqual(expected.slice(1, 4))
        expect(() => part.compact()).toThrow(ArgumentError)
        tensor.compact()
        expect(part.toArray()).toEqual(expected.slice(1, 4))
        part.set(1, 'set behind the back of what was made compact')
        expect(tensor.get(2)).toBe('set behind the back of what was made compact')
        expect(tensor.to('tflite').toArray()).toEqual(tensor.toArray())
      }
    }
  })

  it('leaves an empty arena after all strings became empty', () => {
    const tensor = StringTensor.ofCapacity(2, 64)
    tensor.compact()
    expect(tensor.toArray()).toEqual(['', ''])
    tensor.set(1, 'z'.repeat(65))
    expect(tensor.toArray()).toEqual(['', 'z'.repeat(65)])
  })

  it('throws ReadOnlyError if strings cannot be set', () => {
    expect(() => StringTensor.from(words, { layout: 'legacy' }).set(0, 'a')).toThrow(ReadOnlyError)
    const { segment } = StringTensor.from(words, { storage: 'packed' })
    expect(() => StringTensor.ofSegment(segment, { layout: 'tf', shape: [6] }).set(0, 'a')).toThrow(ReadOnlyError)
  })
})

describe('a tflite tensor', () => {
  it('takes a value of the same length', () => {
    const tensor = StringTensor.from(['ab', '', 'ü'], { layout: 'tflite' })
    tensor.set(0, 'cd')
    tensor.set(1, '')
    tensor.set(2, Uint8Array.of(0x6f, 0x6b))
    expect(tensor.toArray()).toEqual(['cd', '', 'ok'])
    const { segment } = tensor
    StringTensor.ofSegment(segment, { layout: 'tflite', writable: true }).set(0, 'é')
    expect(tensor.get(0)).toBe('é')
    expect(() => StringTensor.ofSegment(segment, { layout: 'tflite' }).set(0, 'ab')).toThrow(ReadOnlyError)
  })

  it.each(['', 'a', 'abc', 'üü'])('refuses "%s" in the place of two bytes, and says what to do', (value) => {
    const tensor = StringTensor.from(['ab', 'c'], { layout: 'tflite' })
    expect(() => tensor.set(0, value)).toThrow(
      expect.objectContaining({
        name: 'TensorLimitError',
        hint: "Pass 2 bytes, or change a copy that to('tf') makes.",
      }),
    )
    expect(tensor.toArray()).toEqual(['ab', 'c'])
  })
})

describe('every text', () => {
  const texts = [
    '',
    'a',
    'x'.repeat(15),
    'x'.repeat(22),
    'x'.repeat(23),
    'ü',
    'x'.repeat(21) + 'ü',
    '\ud800',
    'x'.repeat(40) + '\ud800',
    '\0',
    '€'.repeat(90_000),
  ]

  it.each(['tf', 'rfc16', 'rfc24'] as const)('is set as it is written at first: %s', (layout) => {
    const expected = StringTensor.from(texts, { layout }).toArray()
    for (const from of texts) {
      const tensor = StringTensor.from([from, 'beside', from], { layout })
      for (const [i, text] of texts.entries()) {
        tensor.set(0, text)
        tensor.set(2, text, { invalid: 'replace' })
        expect([tensor.get(0), tensor.get(1), tensor.get(2)]).toEqual([expected[i], 'beside', expected[i]])
      }
    }
  })
})

describe('malloc storage', () => {
  it('follows the rules of the C library', () => {
    using tensor = StringTensor.from(words, { storage: 'malloc' })
    tensor.reserve(0, 100)
    expect([tensor.type(0), tensor.get(0)]).toEqual(['large', 'zero'])
    tensor.append(0, '!'.repeat(30))
    expect(tensor.get(0)).toBe(`zero${'!'.repeat(30)}`)
    tensor.assign(1, tensor, 3)
    tensor.assign(2, StringTensor.from(['viewed '.repeat(10)]), 0)
    expect([tensor.type(1), tensor.get(1), tensor.type(2), tensor.get(2)]).toEqual([
      'large',
      words[3],
      'view',
      'viewed '.repeat(10),
    ])
    tensor.assignView(5, memory('bytes that somebody else has'))
    using other = StringTensor.from(['', ''], { storage: 'malloc' })
    other.move(0, tensor, 1)
    other.move(1, tensor, 5)
    expect([other.get(0), other.get(1), tensor.get(1), tensor.get(5)]).toEqual([
      words[3],
      'bytes that somebody else has',
      '',
      '',
    ])
    tensor.set(1, 'n'.repeat(50))
    expect(tensor.toArray().length).toBe(6)
    expect(tensor.to('tflite').get(1)).toBe('n'.repeat(50))
    expect(() => StringTensor.from(words).append(0, 'a')).toThrow(/storage 'malloc'/)
    expect(() => tensor.reserve(0, 2 ** 52)).toThrow(/out of memory: cannot allocate a string of 45035996273\d+ bytes/)
  })

  it('lets slices change the blocks of the whole tensor but not free them', () => {
    using tensor = StringTensor.from(words, { storage: 'malloc' })
    {
      using part = tensor.slice(3)
      part.append(0, '!')
      part.set(1, 'in a block of malloc, not in an arena')
      part.handOff()
    }
    expect([tensor.get(3), tensor.type(4), tensor.get(4)]).toEqual([
      `${words[3]}!`,
      'large',
      'in a block of malloc, not in an arena',
    ])
  })

  it('assigns strings of a packed tensor as views and keeps them from being collected', () => {
    using tensor = StringTensor.from(
      Array.from({ length: 50 }, () => ''),
      { storage: 'malloc' },
    )
    const source = (i: number): string => `${i}`.repeat(3000)
    for (let i = 0; i < tensor.length; i++) {
      const { segment } = StringTensor.from([source(i), 'small', ''], { storage: 'packed', inline: i % 2 === 0 })
      tensor.assign(i, StringTensor.ofSegment(segment, { layout: 'tf', shape: [3] }), 0)
    }
    globalThis.gc!()
    const others = Array.from({ length: 200 }, () => gcAllocator.allocate(9200).block.bytes.fill(0xff))
    expect(others.length).toBe(200)
    expect(tensor.toArray()).toEqual(Array.from({ length: 50 }, (_, i) => source(i)))
    expect(tensor.type(0)).toBe('view')
    const small = StringTensor.from(['small', ''], { storage: 'packed' })
    tensor.assign(0, small, 0)
    tensor.assign(1, small, 1)
    expect([tensor.get(0), tensor.type(0), tensor.get(1)]).toEqual(['small', 'small', ''])
    expect(() => tensor.assign(0, StringTensor.from(['a'], { layout: 'tflite' }), 0)).toThrow(/layout tf/)
    expect(() => tensor.assign(0, words as unknown as StringTensor, 0)).toThrow(ArgumentError)
    const lifetime = new Lifetime()
    tensor.assign(2, StringTensor.from(['v'.repeat(40)], { storage: 'packed', allocator: lifetime }), 0)
    lifetime.close()
    expect(() => tensor.get(2)).toThrow(ScopeClosedError)
  })

  it('records viewed memory once', () => {
    using tensor = StringTensor.from(['', ''], { storage: 'malloc' })
    const source = StringTensor.from(['viewed '.repeat(10)])
    for (let i = 0; i < 10; i++) tensor.assign(i % 2, source, 0)
    expect(tensor.image.regions!.segments).toEqual(source.image.regions!.segments)
    const bytes = memory('bytes that somebody else has')
    tensor.assignView(0, bytes.asSlice(6, 4))
    tensor.assignView(1, bytes)
    tensor.assignView(0, bytes.asSlice(0, 5))
    expect(tensor.toArray()).toEqual(['bytes', 'bytes that somebody else has'])
    expect(tensor.image.regions!.segments.length).toBe(2)
  })

  it('refuses to be used after close(), in slices as well', () => {
    for (const allocator of [gcAllocator, new Lifetime()]) {
      const tensor = StringTensor.from(words, { storage: 'malloc', allocator })
      const part = tensor.slice(2)
      using other = StringTensor.from(['', ''], { storage: 'malloc' })
      tensor.close()
      const bytes = bytesOf(tensor.segment)
      for (const closed of [tensor, part]) {
        const uses = [
          () => closed.get(0),
          () => closed.bytes(0),
          () => closed.byteLength(0),
          () => closed.type(0),
          () => closed.set(0, 'x'.repeat(40)),
          () => closed.append(0, 'x'.repeat(40)),
          () => closed.reserve(0, 100),
          () => closed.assign(0, other, 1),
          () => closed.assignView(0, memory('x'.repeat(40))),
          () => closed.move(0, other, 1),
          () => other.move(0, closed, 1),
          () => other.assign(0, closed, 1),
          () => closed.toArray(),
          () => closed.toArray({ slices: true }),
          () => closed.to('tflite'),
          () => closed.gather([1]),
          () => closed.slice(1),
          () => closed.hashes(),
          () => closed.indexOf('a'),
          () => closed.indexOfInvalid(),
          () => closed.compareAll('a'),
          () => closed.toArrowUtf8(),
          () => closed.export('nowhere.bin'),
        ]
        for (const use of uses) expect(use).toThrow(ScopeClosedError)
      }
      // Nothing was written, so nothing is left that nobody frees.
      expect(bytesOf(tensor.segment)).toEqual(bytes)
    }
  })

  it('keeps its blocks while a hold or a call uses the memory of its scope', () => {
    const lifetime = new Lifetime()
    const tensor = StringTensor.from(words, { storage: 'malloc', allocator: lifetime })
    const bytes = bytesOf(tensor.segment)
    const hold = lifetime.acquire()
    tensor.close()
    expect(() => tensor.get(0)).toThrow(ScopeClosedError)
    expect(bytesOf(tensor.segment)).toEqual(bytes)
    const { segment } = tensor
    lifetime.addCloseAction(() => expect(bytesOf(segment)).toEqual(bytes))
    hold.release()
    lifetime.close()
  })

  it('is freed once, by the lifetime or by the tensor, and not after it was handed off', () => {
    const lifetime = new Lifetime()
    const tensor = StringTensor.from(words, { storage: 'malloc', allocator: lifetime })
    tensor[Symbol.dispose]()
    tensor[Symbol.dispose]()
    expect(() => tensor.get(3)).toThrow(ScopeClosedError)
    expect(bytesOf(tensor.segment.asSlice(72, 24))).toEqual(new Uint8Array(24))
    lifetime.close()
    const closing = new Lifetime()
    const closed = StringTensor.from(words, { storage: 'malloc', allocator: closing })
    closing.close()
    expect(() => closed.get(0)).toThrow(ScopeClosedError)
    const kept = StringTensor.from(words, { storage: 'malloc' })
    kept.handOff()
    kept[Symbol.dispose]()
    expect(kept.get(3)).toBe(words[3])
    // The new owner of the table frees the blocks. Here it is a tensor that takes over string by string.
    using owner = StringTensor.from(['', '', '', '', '', ''], { storage: 'malloc' })
    words.forEach((_, i) => owner.assign(i, kept, i))
    expect(owner.toArray()).toEqual(words)
  })
})
