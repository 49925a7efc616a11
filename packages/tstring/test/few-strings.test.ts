import { ArgumentError, ArgumentRangeError, gcAllocator, type NativeAllocator, ScopeClosedError } from '@tenon/core'
import { NativeScope } from '@tenon/scope'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { StringTensor } from '../src/index.ts'

const LONG = 'a string that is longer than a struct holds'

/** Memory of the garbage collector from an allocator of the user, for which strings are written one by one. */
const other: NativeAllocator = { allocate: (byteSize, byteAlignment) => gcAllocator.allocate(byteSize, byteAlignment) }

/** The struct of each element, without the address in a VIEW. */
function structsOf(strings: StringTensor): string[] {
  const { block, base } = strings.segment
  return Array.from({ length: strings.length }, (_, i) => {
    const struct = Buffer.from(block.bytes.subarray(base + 24 * i, base + 24 * (i + 1)))
    if (strings.type(i) === 'view') struct.fill(0, 8, 16)
    return struct.toString('hex')
  })
}

function expectSame(values: readonly (string | Uint8Array)[]): void {
  const [few, many] = [StringTensor.from(values), StringTensor.from(values, { allocator: other })]
  expect(few.toArray()).toEqual(many.toArray())
  expect(structsOf(few)).toEqual(structsOf(many))
  expect([few.shape, few.layout, few.abi, few.storage]).toEqual([many.shape, many.layout, many.abi, many.storage])
  expect(few.segment.byteSize).toBe(many.segment.byteSize)
  for (let i = 0; i < values.length; i++) expect(few.bytes(i)).toEqual(many.bytes(i))
  for (const layout of ['tf', 'rfc16', 'rfc24', 'legacy', 'tflite'] as const) {
    expect(few.to(layout).toArray()).toEqual(many.toArray())
  }
}

describe('a few short strings', () => {
  it.each([0, 1, 6, 7, 8, 15, 16, 17, 21, 22, 23, 24, 100])(
    'of %i characters are those of any other tensor',
    (length) => {
      for (const character of ['a', '\u00e9', '\u20ac', '\ud800', '\u{1f600}']) {
        const text = character.repeat(length).slice(0, length)
        expectSame([text, 'a', text])
        expectSame([text.slice(0, -1) + 'a', `a${text.slice(1)}`, ''])
      }
    },
  )

  it.each([0, 1, 2, 31, 32, 33, 64])('are %i, with bytes and long strings among them', (count) => {
    expectSame(Array.from({ length: count }, (_, i) => 'x'.repeat(i)))
    expectSame(Array.from({ length: count }, () => LONG))
    expectSame(Array.from({ length: count }, (_, i) => (i % 3 === 1 ? Buffer.from([0xff, 0, i]) : 'text')))
  })

  it('fill the room that is written at once, and more', () => {
    for (let length = 640; length < 700; length++) expectSame(['x'.repeat(length), ''])
    for (const length of [1000, 2047, 2048, 4096, 100_000]) expectSame(['x'.repeat(length), '\u20ac'.repeat(length)])
  })

  it('are the same as other tensors for any text', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(unit, { maxLength: 40 }).map((all) => all.join('')),
    )
    fc.assert(fc.property(fc.array(text, { maxLength: 40 }), expectSame), { numRuns: 200 })
  })

  it('have a shape, which tensors of the same length may share but nobody can change', () => {
    const [first, second] = [StringTensor.from(['a', 'b']), StringTensor.from(['c', 'd'])]
    expect(() => (first.shape as number[]).push(3)).toThrow(TypeError)
    expect([first.shape, second.shape]).toEqual([[2], [2]])
    expect(StringTensor.from(['a', 'b'], { shape: [2, 1] }).shape).toEqual([2, 1])
  })
})

describe('the tensor of a few short strings', () => {
  it('can be set, cut, compacted and copied', () => {
    const strings = StringTensor.from(['a', LONG, 'c'])
    const tail = strings.slice(1)
    strings.set(0, `${LONG}, and more`)
    strings.set(2, LONG.repeat(3))
    expect(tail.toArray()).toEqual([LONG, LONG.repeat(3)])
    tail.set(0, 'short')
    strings.compact()
    expect(strings.toArray()).toEqual([`${LONG}, and more`, 'short', LONG.repeat(3)])
    expect(tail.toArray()).toEqual(['short', LONG.repeat(3)])
    expect(strings.gather([2, 0]).toArray()).toEqual([LONG.repeat(3), `${LONG}, and more`])
  })

  it('moves its long strings together before one was set', () => {
    const strings = StringTensor.from([LONG, 'b', LONG])
    const before = strings.bytes(0)
    strings.compact()
    expect(strings.toArray()).toEqual([LONG, 'b', LONG])
    before.fill(0)
    expect(strings.toArray()).toEqual([LONG, 'b', LONG])
    expect(() => strings.slice(1).compact()).toThrow(ArgumentError)
  })

  it('shows no bytes of another tensor in raw views, and loses only its own when one is transferred', () => {
    const tensors = Array.from({ length: 300 }, (_, i) => StringTensor.from([`${i}`, `${LONG} ${i}`]))
    tensors.forEach((strings, i) => {
      const { buffer } = strings.bytes(i % 2)
      // A buffer that is not a part of a slab has padding for its alignment.
      expect(buffer.byteLength).toBeLessThanOrEqual(2 * 24 + LONG.length + 4 + 64)
      if (i % 3 === 0) new Uint8Array(buffer).fill(0)
      if (i % 3 === 1) (buffer as ArrayBuffer).transfer()
    })
    tensors.forEach((strings, i) => {
      if (i % 3 === 0) expect(strings.toArray()).toEqual(['', ''])
      else if (i % 3 === 1) expect(() => strings.toArray()).toThrow(ScopeClosedError)
      else expect(strings.toArray()).toEqual([`${i}`, `${LONG} ${i}`])
    })
  })

  it('is readable as long as it is alive, among 10,000 others', () => {
    const tensors = Array.from({ length: 10_000 }, (_, i) => StringTensor.from([`${i}`, i % 2 === 0 ? LONG : 'b', 'c']))
    for (let i = 0; i < 20_000; i++) StringTensor.from(['other', LONG.toUpperCase()])
    expect(
      tensors.every((strings, i) => strings.get(0) === `${i}` && strings.get(1) === (i % 2 === 0 ? LONG : 'b')),
    ).toBe(true)
  })

  it('refuses to be read for the first time after its memory has closed', () => {
    const scope = NativeScope.ofConfined()
    const strings = ['tf', 'tflite'].map((layout) =>
      StringTensor.from(['a', LONG], { layout: layout as 'tf', allocator: scope }),
    )
    scope.close()
    for (const closed of strings) {
      for (const use of ['get', 'bytes', 'byteLength', 'type', 'hash'] as const) {
        expect(() => closed[use](0)).toThrow(ScopeClosedError)
      }
      expect(() => closed.toArray()).toThrow(ScopeClosedError)
      expect(() => closed.slice(1)).toThrow(ScopeClosedError)
      expect(() => closed.equals(0, 'a')).toThrow(ScopeClosedError)
      expect(String(closed)).toContain('closed')
    }
  })
})

describe('the elements of a few strings', () => {
  const withGetters = (values: readonly unknown[], read: (index: number) => void): string[] => {
    const array: unknown[] = [...values]
    values.forEach((value, i) =>
      Object.defineProperty(array, i, {
        get: () => {
          read(i)
          return value
        },
      }),
    )
    return array as string[]
  }

  it('are read once, in order, and may create tensors meanwhile', () => {
    for (const values of [
      ['a', LONG, 'c'],
      ['a', Buffer.from('b'), LONG],
      ['a', LONG.repeat(100), 'c'],
    ]) {
      const read: number[] = []
      const inner: StringTensor[] = []
      const array = withGetters(values, (i) => {
        read.push(i)
        inner.push(StringTensor.from([`inner ${i}`, LONG.toUpperCase()]))
      })
      expect(StringTensor.from(array).toArray()).toEqual(values.map(String))
      expect(read).toEqual([0, 1, 2])
      expect(inner.map((strings) => strings.toArray())).toEqual(
        [0, 1, 2].map((i) => [`inner ${i}`, LONG.toUpperCase()]),
      )
    }
  })

  it('cannot make the tensor longer or shorter while they are read', () => {
    const array: string[] = ['a', 'b', 'c']
    Object.defineProperty(array, 0, {
      get: () => {
        array.length = 2
        array.push(LONG, 'd', 'e')
        return 'first'
      },
    })
    expect(StringTensor.from(array).toArray()).toEqual(['first', 'b', LONG])
  })

  it('are refused at the first one that is neither a string nor bytes', () => {
    for (const wrong of [
      undefined,
      null,
      1,
      {},
      Symbol('x'),
      new Uint16Array(1),
      new Proxy(new Uint8Array(1), {}),
      new String('x'),
    ]) {
      const read: number[] = []
      const array = withGetters(['a', wrong, 'c'], (i) => read.push(i))
      expect(() => StringTensor.from(array)).toThrow(/^element 1 must be a string or a Uint8Array/)
      expect(read).toEqual([0, 1])
    }
    expect(() => StringTensor.from(new Array<string>(2))).toThrow(ArgumentError)
    const shrinking = Buffer.from(new ArrayBuffer(40))
    const array = withGetters(['a', shrinking, 'c'], (i) => i === 2 && shrinking.buffer.transfer())
    expect(() => StringTensor.from(array)).toThrow(ArgumentError)
  })

  it('are refused while a replaced method of Buffer returns a wrong size', () => {
    const methods = Buffer.prototype as unknown as { utf8Write: (...parameters: never[]) => unknown }
    const before = methods.utf8Write
    for (const size of [2 ** 31, 2 ** 40, 3 * LONG.length + 1, -1, 1.5, NaN, '8', undefined]) {
      methods.utf8Write = () => size
      try {
        expect(() => StringTensor.from(['a', LONG])).toThrow(ArgumentRangeError)
      } finally {
        methods.utf8Write = before
      }
    }
    expect(StringTensor.from(['a', LONG]).toArray()).toEqual(['a', LONG])
  })

  it('are those that a proxy or a subclass answers', () => {
    class Texts extends Array<string> {}
    expect(StringTensor.from(new Proxy(['a', LONG], {})).toArray()).toEqual(['a', LONG])
    expect(StringTensor.from(Texts.of('a', LONG)).toArray()).toEqual(['a', LONG])
    for (const length of [-1, 1.5, 2 ** 32, '2', NaN]) {
      const lying = new Proxy(['a'], {
        get: (target, name) => (name === 'length' ? length : Reflect.get(target, name)),
      })
      expect(() => StringTensor.from(lying as string[])).toThrow(ArgumentError)
    }
  })
})

test('options that are given but empty make the same tensor', () => {
  for (const options of [undefined, {}, { layout: 'tf' }, { storage: 'arena' }, { inline: true }] as const) {
    expect(structsOf(StringTensor.from(['a', LONG], options))).toEqual(structsOf(StringTensor.from(['a', LONG])))
  }
  expect(StringTensor.from(['a'], { inline: false }).type(0)).not.toBe('small')
  expect(() => StringTensor.from(['a'], null as never)).toThrow(ArgumentError)
})
