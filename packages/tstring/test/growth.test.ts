import { describe, expect, it } from 'vitest'
import * as api from '../src/index.ts'
import { bytesOf, hex, memory } from './helpers.ts'
import { content, freeing, large, make, offsetString, text, viewOf } from './shipped-strings.ts'

describe('LARGE', () => {
  it('a NUL follows the bytes, and the block has room for capacity and NUL', () => {
    const string = make('x'.repeat(31))
    freeing([string], () => {
      expect(large(string)).toMatchObject({ size: 31, capacity: 31 })
      // The NUL itself is checked in C (csrc/test/tstring/element_test.c), because no pointer is followed past the size here.
      api.tstringResize(string, 25)
      expect(text(string)).toBe('x'.repeat(25))
    })
  })

  it('capacities are one less than a multiple of 16', () => {
    const expected = { 23: 31, 31: 31, 32: 47, 47: 47, 48: 63, 255: 255, 256: 271 }
    for (const [size, capacity] of Object.entries(expected)) {
      const string = make('x'.repeat(Number(size)))
      freeing([string], () => expect(large(string)).toMatchObject({ size: Number(size), capacity }))
    }
  })

  it('a copy within the capacity keeps block and capacity', () => {
    const string = make('x'.repeat(100))
    freeing([string], () => {
      const before = large(string)
      api.tstringCopy(string, 'y'.repeat(111))
      expect(large(string)).toEqual({ ...before, size: 111 })
      api.tstringCopy(string, 'z'.repeat(60))
      expect(large(string)).toEqual({ ...before, size: 60 })
    })
  })

  it('a block shrinks by one halving a call, and only below half of the capacity', () => {
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

  it('a string of up to 22 bytes frees the block and becomes SMALL', () => {
    const string = make('x'.repeat(100))
    api.tstringCopy(string, 'y'.repeat(22))
    expect(api.tstringGetType(string)).toBe('small')
    // The rest of the struct is not cleared, so byte 8 of a short SMALL still has the old capacity.
    const stale = make('x'.repeat(100))
    api.tstringCopy(stale, 'y')
    expect(bytesOf(stale)[8]).toBe(111)
    api.tstringInit(stale)
    expect(bytesOf(stale)).toEqual(new Uint8Array(24))
  })

  it('growing fills with a byte, and shrinking only moves the end', () => {
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
  it('appending doubles the capacity', () => {
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

  it('appending nothing changes nothing, not even the type', () => {
    const view = viewOf(memory('viewed'))
    const before = bytesOf(view)
    api.tstringAppend(view, '')
    expect(bytesOf(view)).toEqual(before)
  })

  it('reserving up to 22 never changes anything', () => {
    for (const string of [make('abc'), viewOf(memory('viewed')), offsetString('offset')]) {
      const before = bytesOf(string)
      api.tstringReserve(string, 22)
      expect(bytesOf(string)).toEqual(before)
    }
  })

  it('reserving more turns SMALL, VIEW and OFFSET into LARGE with the same content', () => {
    const strings = [make('abc'), viewOf(memory('viewed')), offsetString('offset')]
    freeing(strings, () => {
      for (const string of strings) api.tstringReserve(string, 100)
      expect(strings.map(text)).toEqual(['abc', 'viewed', 'offset'])
      expect(strings.map((string) => large(string).capacity)).toEqual([111, 111, 111])
    })
    // The next short copy still frees the block.
    const string = make('hello')
    api.tstringReserve(string, 100)
    api.tstringAppend(string, 'you')
    expect([api.tstringGetType(string), text(string)]).toEqual(['small', 'helloyou'])
  })

  it('reserving never shrinks', () => {
    const string = make('x'.repeat(200))
    freeing([string], () => {
      api.tstringReserve(string, 30)
      expect(large(string).capacity).toBe(207)
    })
  })

  it('reserving rounds the requested capacity, or the size if that is larger', () => {
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

  it('amortized reserving doubles, and does nothing within the capacity', () => {
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
