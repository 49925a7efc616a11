import { gcAllocator, type Segment } from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { decodeStruct, encodeStruct, StringTensor } from '../src/index.ts'
import * as api from '../src/index.ts'
import { awkward, bytesOf, everyAbi, hex, memory } from './helpers.ts'

const make = (text = ''): Segment => {
  const string = gcAllocator.allocate(24, 8)
  api.tstringCopy(string, text)
  return string
}

/** Runs with strings whose blocks are freed afterwards. */
const freeing = (strings: readonly Segment[], run: () => void): void => {
  try {
    run()
  } finally {
    for (const string of strings) api.tstringDealloc(string)
  }
}

const fields = (string: Segment): ReturnType<typeof decodeStruct> =>
  decodeStruct(bytesOf(string), { layout: 'tf', abi: api.hostAbi })

const large = (string: Segment): { size: number; capacity: number; pointer: bigint } => {
  const found = fields(string)
  if (found.type !== 'large') throw new Error(`expected a LARGE, got ${found.type}`)
  return { size: Number(found.size), capacity: Number(found.capacity), pointer: found.pointer }
}

/** The content of a string, through a tensor that trusts it. */
const content = (string: Segment): Uint8Array =>
  Uint8Array.from(StringTensor.over(string, { layout: 'tf', shape: [], validate: 'trusted' }).bytes(0))
const text = (string: Segment): string => Buffer.from(content(string)).toString()

/** A VIEW onto these bytes, which the second segment keeps alive. */
const viewOf = (bytes: Segment): Segment => {
  const string = make()
  api.tstringAssignView(string, bytes)
  return string
}

/** An OFFSET struct and its bytes, in one block. */
const offsetString = (value: string): Segment => {
  const whole = gcAllocator.allocate(24 + value.length, 8)
  const view = whole.view()
  const struct = encodeStruct({ type: 'offset', size: value.length, offset: 24, count: 1 }, { layout: 'tf', abi: 'le64' })
  new Uint8Array(view.buffer, view.byteOffset, whole.byteSize).set([...struct, ...Buffer.from(value)])
  return whole
}

describe('the struct', () => {
  it('rule 1: a zeroed struct is the empty SMALL', () => {
    for (const abi of everyAbi) {
      expect(decodeStruct(new Uint8Array(24), { layout: 'tf', abi })).toEqual({ type: 'small', bytes: new Uint8Array(0) })
    }
    const tensor = StringTensor.over(gcAllocator.allocate(72), { layout: 'tf', shape: [3] })
    expect(tensor.toArray()).toEqual(['', '', ''])
  })

  it('rule 2: the type is the low two bits of byte 0 on every ABI', () => {
    for (const abi of everyAbi) {
      const options = { layout: 'tf', abi } as const
      expect(encodeStruct({ type: 'small', bytes: hex('61') }, options)[0]! & 3).toBe(0)
      expect(encodeStruct({ type: 'large', size: 29n, capacity: 31n, pointer: 16n }, options)[0]! & 3).toBe(1)
      expect(encodeStruct({ type: 'offset', size: 29, offset: 24, count: 1 }, options)[0]! & 3).toBe(2)
      expect(encodeStruct({ type: 'view', size: 29n, pointer: 16n, owner: 0n }, options)[0]! & 3).toBe(3)
    }
  })

  it('rule 3: byte 0 of a SMALL is its size times four, 0 to 22', () => {
    for (let size = 0; size <= 22; size++) {
      const string = make('x'.repeat(size))
      expect(bytesOf(string)[0]).toBe(size << 2)
      expect(api.tstringGetType(string)).toBe('small')
    }
    const tooLarge = hex('5c 00*23')
    expect(() => StringTensor.over(memory(tooLarge), { layout: 'tf', shape: [1] })).toThrow(/small-size.*element 0.*22.*23/)
    expect(() => decodeStruct(tooLarge, { layout: 'tf', abi: 'be32' })).toThrow(RangeError)
  })

  it('rule 4: a NUL always follows the bytes of a SMALL', () => {
    const string = make('x'.repeat(22))
    expect(bytesOf(string)[23]).toBe(0)
    api.tstringCopy(string, 'abc')
    expect(bytesOf(string)[4]).toBe(0)
    const bytes = hex('04 61 62 00*21')
    expect(() => StringTensor.over(memory(bytes), { layout: 'tf', shape: [1] })).toThrow(/small-nul.*element 0.*0x62/)
    expect(StringTensor.over(memory(bytes), { layout: 'tf', shape: [1], validate: 'lenient' }).get(0)).toBe('a')
  })

  it('rule 5: 22 bytes are SMALL, 23 are LARGE', () => {
    const strings = [make('x'.repeat(22)), make('x'.repeat(23))]
    freeing(strings, () => expect(strings.map(api.tstringGetType)).toEqual(['small', 'large']))
  })

  it('rule 6: the size word of a LARGE on every ABI, to the byte', () => {
    const fields = { type: 'large', size: 29n, capacity: 31n, pointer: 0x1234n } as const
    const encoded = everyAbi.map((abi) => Buffer.from(encodeStruct(fields, { layout: 'tf', abi })).toString('hex'))
    expect(encoded).toEqual([
      '7500000000000000' + '1f00000000000000' + '3412000000000000',
      '010000000000001d' + '000000000000001f' + '0000000000001234',
      '75000000' + '1f000000' + '34120000' + '00'.repeat(12),
      '0100001d' + '0000001f' + '00001234' + '00'.repeat(12),
    ])
    for (const abi of everyAbi) {
      const options = { layout: 'tf', abi } as const
      expect(decodeStruct(encodeStruct(fields, options), options)).toEqual(fields)
    }
  })

  it('rule 29: the words of an OFFSET are little endian on every ABI', () => {
    const fields = { type: 'offset', size: 29, offset: 0x18, count: 2 } as const
    for (const abi of everyAbi) {
      const bytes = encodeStruct(fields, { layout: 'tf', abi })
      expect(Buffer.from(bytes).toString('hex')).toBe('76000000' + '18000000' + '02000000' + '00'.repeat(12))
      expect(decodeStruct(bytes, { layout: 'tf', abi })).toEqual(fields)
    }
  })

  it('rule 33: a reader does not read past 22 bytes of a SMALL', () => {
    const bytes = hex('fc 61*23 62*24')
    expect(() => StringTensor.over(memory(bytes), { layout: 'tf', shape: [2], validate: 'lenient' })).toThrow(/small-size/)
    const trusted = StringTensor.over(memory(bytes), { layout: 'tf', shape: [2], validate: 'trusted' })
    expect(() => trusted.get(0)).toThrow(/small-size.*says 63/)
    expect(() => trusted.to('tflite')).toThrow(/small-size.*says 63/)
  })

  it('rule 35: sizes that would reach into the type bits are refused', () => {
    const limits = { le64: 2n ** 62n, be64: 2n ** 54n, le32: 2n ** 30n, be32: 2n ** 22n } as const
    for (const abi of everyAbi) {
      const options = { layout: 'tf', abi } as const
      const view = (size: bigint): Uint8Array => encodeStruct({ type: 'view', size, pointer: 16n, owner: 0n }, options)
      const largest = decodeStruct(view(limits[abi] - 1n), options)
      expect(largest).toEqual({ type: 'view', size: limits[abi] - 1n, pointer: 16n, owner: 0n })
      expect(() => view(limits[abi])).toThrow(RangeError)
      expect(() => encodeStruct({ type: 'large', size: limits[abi], capacity: 0n, pointer: 0n }, options)).toThrow(RangeError)
    }
  })
})

describe('LARGE', () => {
  it('rule 7: a NUL follows the bytes, and the block has room for capacity and NUL', () => {
    const string = make('x'.repeat(31))
    freeing([string], () => {
      expect(large(string)).toMatchObject({ size: 31, capacity: 31 })
      // The NUL itself is checked in C (tstring_element_test.c): here no pointer is followed past the size.
      api.tstringResize(string, 25)
      expect(text(string)).toBe('x'.repeat(25))
    })
  })

  it('rule 8 and rule 9: capacities are one less than a multiple of 16', () => {
    const expected = { 23: 31, 31: 31, 32: 47, 47: 47, 48: 63, 255: 255, 256: 271 }
    for (const [size, capacity] of Object.entries(expected)) {
      const string = make('x'.repeat(Number(size)))
      freeing([string], () => expect(large(string)).toMatchObject({ size: Number(size), capacity }))
    }
  })

  it('rule 10: a copy within the capacity keeps block and capacity', () => {
    const string = make('x'.repeat(100))
    freeing([string], () => {
      const before = large(string)
      api.tstringCopy(string, 'y'.repeat(111))
      expect(large(string)).toEqual({ ...before, size: 111 })
      api.tstringCopy(string, 'z'.repeat(60))
      expect(large(string)).toEqual({ ...before, size: 60 })
    })
  })

  it('rule 11: a block shrinks by one halving a call, below half of the capacity only', () => {
    const shrink = (from: number, to: number): number => {
      const string = make('x'.repeat(from))
      let capacity = 0
      freeing([string], () => {
        api.tstringCopy(string, 'y'.repeat(to))
        capacity = large(string).capacity
        expect(text(string)).toBe('y'.repeat(to))
      })
      return capacity
    }
    expect([shrink(255, 126), shrink(255, 127), shrink(4095, 100)]).toEqual([127, 255, 2047])
  })

  it('rule 12: up to 22 bytes free the block and are SMALL', () => {
    const string = make('x'.repeat(100))
    api.tstringCopy(string, 'y'.repeat(22))
    expect(api.tstringGetType(string)).toBe('small')
    // Nothing clears what was behind: the old capacity still stands at byte 8 of a short SMALL.
    const stale = make('x'.repeat(100))
    api.tstringCopy(stale, 'y')
    expect(bytesOf(stale)[8]).toBe(111)
    api.tstringInit(stale)
    expect(bytesOf(stale)).toEqual(new Uint8Array(24))
  })

  it('rule 13: growing fills with the given byte, shrinking only moves the end', () => {
    const string = make('ab')
    freeing([string], () => {
      api.tstringResize(string, 5, 0x7a)
      expect(text(string)).toBe('abzzz')
      api.tstringResize(string, 40, 0xff)
      expect(content(string).slice(5)).toEqual(hex('ff*35'))
      api.tstringResize(string, 30)
      api.tstringResize(string, 40, 0x61)
      expect(content(string).slice(28)).toEqual(hex('ff*2 61*10'))
    })
  })
})

describe('growth', () => {
  it('rule 14: appending doubles the capacity', () => {
    const string = make('x'.repeat(22))
    freeing([string], () => {
      const capacities = new Set<number>()
      for (let size = 23; size <= 767; size++) {
        api.tstringAppend(string, 'y')
        capacities.add(large(string).capacity)
      }
      expect([...capacities]).toEqual([47, 95, 191, 383, 767])
      expect(text(string)).toBe('x'.repeat(22) + 'y'.repeat(745))
    })
  })

  it('rule 15: appending nothing changes nothing, not even the type', () => {
    const view = viewOf(memory('viewed'))
    const before = bytesOf(view)
    api.tstringAppend(view, '')
    expect(bytesOf(view)).toEqual(before)
  })

  it('rule 16: reserving up to 22 never changes anything', () => {
    for (const string of [make('abc'), viewOf(memory('viewed')), offsetString('offset')]) {
      const before = bytesOf(string)
      api.tstringReserve(string, 22)
      expect(bytesOf(string)).toEqual(before)
    }
  })

  it('rule 17: reserving more makes a LARGE of SMALL, VIEW and OFFSET, with the content', () => {
    const strings = [make('abc'), viewOf(memory('viewed')), offsetString('offset')]
    freeing(strings, () => {
      for (const string of strings) api.tstringReserve(string, 100)
      expect(strings.map(text)).toEqual(['abc', 'viewed', 'offset'])
      expect(strings.map((string) => large(string).capacity)).toEqual([111, 111, 111])
    })
    // The next short copy frees the block all the same.
    const string = make('hello')
    api.tstringReserve(string, 100)
    api.tstringAppend(string, 'you')
    expect([api.tstringGetType(string), text(string)]).toEqual(['small', 'helloyou'])
  })

  it('rule 18: reserving never shrinks', () => {
    const string = make('x'.repeat(200))
    freeing([string], () => {
      api.tstringReserve(string, 30)
      expect(large(string).capacity).toBe(207)
    })
  })

  it('rule 19: reserving rounds what is asked, or the size if that is more', () => {
    const string = make()
    freeing([string], () => {
      api.tstringReserve(string, 200)
      expect(large(string).capacity).toBe(207)
    })
    const view = viewOf(memory('v'.repeat(300)))
    freeing([view], () => {
      api.tstringReserve(view, 23)
      expect(large(view)).toMatchObject({ size: 300, capacity: 303 })
    })
  })

  it('rule 20: amortized reserving doubles, and does nothing within the capacity', () => {
    const string = make('x'.repeat(100))
    freeing([string], () => {
      api.tstringReserveAmortized(string, 111)
      expect(large(string).capacity).toBe(111)
      api.tstringReserveAmortized(string, 200)
      expect(large(string).capacity).toBe(223)
    })
    const small = make()
    api.tstringReserveAmortized(small, 22)
    expect(api.tstringGetType(small)).toBe('small')
    const view = viewOf(memory('v'.repeat(30)))
    expect(api.tstringGetCapacity(view)).toBe(0)
    freeing([view], () => {
      api.tstringReserveAmortized(view, 23)
      expect(large(view).capacity).toBe(31)
    })
  })
})

describe('VIEW', () => {
  it('rule 21: type 3, the pointer as it is, bytes 16 to 23 zero', () => {
    const bytes = memory('viewed bytes')
    const dirty = memory(hex('00 ff*23'), 8)
    api.tstringAssignView(dirty, bytes)
    expect(fields(dirty)).toEqual({ type: 'view', size: 12n, pointer: bytes.address, owner: 0n })
    expect(bytesOf(dirty).slice(16)).toEqual(new Uint8Array(8))
    const tensor = StringTensor.from(['x'.repeat(30), 'é'.repeat(12)])
    expect(bytesOf(tensor.segment).slice(16, 24)).toEqual(new Uint8Array(8))
    expect(bytesOf(tensor.segment).slice(40, 48)).toEqual(new Uint8Array(8))
  })

  it('rule 22: a VIEW of 0 to 22 bytes stays a VIEW', () => {
    expect(api.tstringGetType(viewOf(memory('short')))).toBe('view')
    expect(api.tstringGetType(viewOf(memory('')))).toBe('view')
  })

  it('rule 23: a VIEW of no bytes may name no memory', () => {
    const empty = memory(encodeStruct({ type: 'view', size: 0n, pointer: 0n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }))
    const tensor = StringTensor.over(empty, { layout: 'tf', shape: [1], validate: 'trusted' })
    expect([tensor.get(0), tensor.to('tflite').get(0), tensor.equals(0, '')]).toEqual(['', '', true])
    const bad = memory(encodeStruct({ type: 'view', size: 1n, pointer: 0n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }))
    const wrong = StringTensor.over(bad, { layout: 'tf', shape: [1], validate: 'trusted' })
    expect(() => wrong.get(0)).toThrow(/pointer.*element 0/)
    expect(() => wrong.to('tflite')).toThrow(/pointer.*element 0/)
  })

  it('rule 24: taking a pointer to write makes SMALL or LARGE of VIEW and OFFSET', () => {
    const strings = [viewOf(memory('short')), viewOf(memory('l'.repeat(40))), offsetString('short'), offsetString('l'.repeat(40))]
    freeing(strings, () => {
      for (const string of strings) expect(api.tstringGetMutableDataPointer(string)).toBe(api.tstringGetDataPointer(string))
      expect(strings.map(api.tstringGetType)).toEqual(['small', 'large', 'small', 'large'])
      expect(strings.map(text)).toEqual(['short', 'l'.repeat(40), 'short', 'l'.repeat(40)])
    })
  })
})

describe('assignment', () => {
  it('rule 25: what becomes of each type', () => {
    const viewed = memory('v'.repeat(40))
    const sources = { small: make('s'), large: make('l'.repeat(40)), offset: offsetString('o'.repeat(40)), view: viewOf(viewed) }
    for (const target of [(): Segment => make(), (): Segment => make('t'.repeat(60)), (): Segment => viewOf(viewed)]) {
      const results = Object.entries(sources).map(([type, source]) => {
        const string = target()
        api.tstringAssign(string, source)
        const result = [type, api.tstringGetType(string), text(string)]
        api.tstringDealloc(string)
        return result
      })
      expect(results).toEqual([
        ['small', 'small', 's'],
        ['large', 'large', 'l'.repeat(40)],
        ['offset', 'view', 'o'.repeat(40)],
        ['view', 'view', 'v'.repeat(40)],
      ])
    }
    // The copy of a LARGE is as large as its bytes ask, not as its block is.
    const reserved = make('short')
    api.tstringReserve(reserved, 500)
    const copy = make()
    api.tstringAssign(copy, reserved)
    expect([api.tstringGetType(copy), text(copy)]).toEqual(['small', 'short'])
    api.tstringDealloc(reserved)
    api.tstringDealloc(sources.large)
  })

  it('rule 26: what becomes of a source that is moved from, in both generations', () => {
    const move = (source: Segment, keepViews: boolean): unknown[] => {
      const string = make('t'.repeat(50))
      api.tstringMove(string, source, { keepViews })
      const result = [api.tstringGetType(string), text(string).length, api.tstringGetType(source), api.tstringGetSize(source)]
      api.tstringDealloc(string)
      return result
    }
    for (const keepViews of [false, true]) {
      expect(move(make('s'), keepViews)).toEqual(['small', 1, 'small', 1])
      expect(move(make('l'.repeat(40)), keepViews)).toEqual(['large', 40, 'small', 0])
      expect(move(offsetString('o'.repeat(40)), keepViews)).toEqual(['view', 40, 'offset', 40])
    }
    expect(move(viewOf(memory('v'.repeat(40))), false)).toEqual(['view', 40, 'small', 0])
    expect(move(viewOf(memory('v'.repeat(40))), true)).toEqual(['view', 40, 'view', 40])
  })

  it('rule 27: assigning and moving to itself change nothing', () => {
    const string = make('x'.repeat(40))
    freeing([string], () => {
      const before = bytesOf(string)
      api.tstringAssign(string, string)
      api.tstringMove(string, string)
      expect(bytesOf(string)).toEqual(before)
      expect(text(string)).toBe('x'.repeat(40))
    })
  })

  it('rule 28: freeing is idempotent and frees LARGE alone', () => {
    const string = make('x'.repeat(40))
    api.tstringDealloc(string)
    api.tstringDealloc(string)
    expect(bytesOf(string)).toEqual(new Uint8Array(24))
    for (const other of [make('small'), viewOf(memory('viewed')), offsetString('offset')]) {
      const before = bytesOf(other)
      api.tstringDealloc(other)
      expect(bytesOf(other)).toEqual(before)
    }
  })

  it('rule 36: a source inside the string itself is read before anything is freed', () => {
    // A view of the struct's own characters is a copy of them.
    const small = make('abcdef')
    api.tstringAssignView(small, small.asSlice(3, 3))
    expect([api.tstringGetType(small), text(small)]).toEqual(['small', 'cde'])
  })

  it('rule 37: overwriting a VIEW does not read what it named', () => {
    const gone = memory(encodeStruct({ type: 'view', size: 1000n, pointer: 16n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }), 8)
    api.tstringCopy(gone, 'new')
    expect(text(gone)).toBe('new')
    const again = memory(encodeStruct({ type: 'view', size: 1000n, pointer: 16n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }), 8)
    freeing([again], () => {
      api.tstringCopy(again, 'n'.repeat(50))
      expect(text(again)).toBe('n'.repeat(50))
    })
  })
})

describe('content', () => {
  it('rule 30: the bytes of an OFFSET lie at its own address plus the offset', () => {
    const string = offsetString('offset')
    expect(api.tstringGetDataPointer(string)).toBe(string.address + 24n)
    expect(text(string)).toBe('offset')
  })

  it('rule 31: NUL, invalid UTF-8, BOM and surrogates are bytes like others', () => {
    for (const storage of ['arena', 'malloc', 'packed'] as const) {
      using tensor = StringTensor.from(awkward, { storage })
      awkward.forEach((bytes, i) => expect(Uint8Array.from(tensor.bytes(i))).toEqual(bytes))
    }
    expect(StringTensor.from(['\ufeffa\0b']).get(0)).toBe('\ufeffa\0b')
  })

  it('rule 32: order is that of unsigned bytes, then of length', () => {
    const tensor = StringTensor.from([hex('61'), hex('61 00'), hex('80'), hex('61'), hex('ff'), new Uint8Array(0)])
    expect(tensor.compare(0, 1)).toBe(-1)
    expect(tensor.compare(2, 0)).toBe(1)
    expect(tensor.compare(0, 3)).toBe(0)
    expect(tensor.compare(4, 2)).toBe(1)
    expect(tensor.compare(5, 0)).toBe(-1)
    expect([...tensor.compareAll('a')]).toEqual([0, 1, 1, 0, 1, -1])
  })

  it('rule 38: an arena has SMALL and VIEW alone, and blocks of malloc are LARGE', () => {
    const values = ['short', 'l'.repeat(40), 'é'.repeat(30)]
    const arena = StringTensor.from(values)
    arena.set(0, 'now long enough to be elsewhere')
    expect(values.map((_, i) => arena.type(i))).toEqual(['view', 'view', 'view'])
    const tensor = StringTensor.from(values, { storage: 'malloc' })
    expect(values.map((_, i) => tensor.type(i))).toEqual(['small', 'large', 'large'])
    tensor[Symbol.dispose]()
    expect(tensor.toArray()).toEqual(['short', '', ''])
  })
})
