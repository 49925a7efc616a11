import type { Segment } from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { encodeStruct, StringTensor } from '../src/index.ts'
import * as api from '../src/index.ts'
import { bytesOf, hex, memory } from './helpers.ts'
import { fields, freeing, make, offsetString, text, viewOf } from './shipped-strings.ts'

describe('VIEW', () => {
  it('a VIEW has type 3, the unchanged pointer, and zero in bytes 16 to 23', () => {
    const bytes = memory('viewed bytes')
    const dirty = memory(hex('00 ff*23'), 8)
    api.tstringAssignView(dirty, bytes)
    expect(fields(dirty)).toEqual({ type: 'view', size: 12n, pointer: bytes.address, owner: 0n })
    expect(bytesOf(dirty).slice(16)).toEqual(new Uint8Array(8))
    const tensor = StringTensor.from(['x'.repeat(30), 'é'.repeat(12)])
    expect(bytesOf(tensor.segment).slice(16, 24)).toEqual(new Uint8Array(8))
    expect(bytesOf(tensor.segment).slice(40, 48)).toEqual(new Uint8Array(8))
  })

  it('a VIEW of 0 to 22 bytes stays a VIEW', () => {
    expect(api.tstringGetType(viewOf(memory('short')))).toBe('view')
    expect(api.tstringGetType(viewOf(memory('')))).toBe('view')
  })

  it('a VIEW of no bytes may have any pointer', () => {
    const empty = memory(
      encodeStruct({ type: 'view', size: 0n, pointer: 0n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }),
    )
    const tensor = StringTensor.ofSegment(empty, { layout: 'tf', shape: [1], validate: 'trusted' })
    expect([tensor.get(0), tensor.to('tflite').get(0), tensor.equals(0, '')]).toEqual(['', '', true])
    const bad = memory(
      encodeStruct({ type: 'view', size: 1n, pointer: 0n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }),
    )
    const wrong = StringTensor.ofSegment(bad, { layout: 'tf', shape: [1], validate: 'trusted' })
    expect(() => wrong.get(0)).toThrow(/pointer.*element 0/)
    expect(() => wrong.to('tflite')).toThrow(/pointer.*element 0/)
  })

  it('taking a pointer to write makes SMALL or LARGE of VIEW and OFFSET', () => {
    const strings = [
      viewOf(memory('short')),
      viewOf(memory('l'.repeat(40))),
      offsetString('short'),
      offsetString('l'.repeat(40)),
    ]
    freeing(strings, () => {
      for (const string of strings)
        expect(api.tstringGetMutableDataPointer(string)).toBe(api.tstringGetDataPointer(string))
      expect(strings.map(api.tstringGetType)).toEqual(['small', 'large', 'small', 'large'])
      expect(strings.map(text)).toEqual(['short', 'l'.repeat(40), 'short', 'l'.repeat(40)])
    })
  })
})

describe('assignment', () => {
  it('VIEW and OFFSET are assigned as VIEW, and LARGE is copied', () => {
    const viewed = memory('v'.repeat(40))
    const sources = {
      small: make('s'),
      large: make('l'.repeat(40)),
      offset: offsetString('o'.repeat(40)),
      view: viewOf(viewed),
    }
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
    // The copy of a LARGE has the capacity for its bytes, not the capacity of the source.
    const reserved = make('short')
    api.tstringReserve(reserved, 500)
    const copy = make()
    api.tstringAssign(copy, reserved)
    expect([api.tstringGetType(copy), text(copy)]).toEqual(['small', 'short'])
    api.tstringDealloc(reserved)
    api.tstringDealloc(sources.large)
  })

  it('a moved LARGE leaves an empty string, and a moved VIEW does too unless keepViews is set', () => {
    const move = (source: Segment, keepViews: boolean): unknown[] => {
      const string = make('t'.repeat(50))
      api.tstringMove(string, source, { keepViews })
      const result = [
        api.tstringGetType(string),
        text(string).length,
        api.tstringGetType(source),
        api.tstringGetSize(source),
      ]
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

  it('assigning and moving to itself change nothing', () => {
    const string = make('x'.repeat(40))
    freeing([string], () => {
      const before = bytesOf(string)
      api.tstringAssign(string, string)
      api.tstringMove(string, string)
      expect(bytesOf(string)).toEqual(before)
      expect(text(string)).toBe('x'.repeat(40))
    })
  })

  it('freeing is idempotent and changes only LARGE', () => {
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

  it('a source inside the string itself is read before anything is freed', () => {
    // A view of the struct's own characters becomes a copy of them.
    const small = make('abcdef')
    api.tstringAssignView(small, small.asSlice(3, 3))
    expect([api.tstringGetType(small), text(small)]).toEqual(['small', 'cde'])
  })

  it('overwriting a VIEW does not read the bytes that it named', () => {
    const gone = memory(
      encodeStruct({ type: 'view', size: 1000n, pointer: 16n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }),
      8,
    )
    api.tstringCopy(gone, 'new')
    expect(text(gone)).toBe('new')
    const again = memory(
      encodeStruct({ type: 'view', size: 1000n, pointer: 16n, owner: 0n }, { layout: 'tf', abi: api.hostAbi }),
      8,
    )
    freeing([again], () => {
      api.tstringCopy(again, 'n'.repeat(50))
      expect(text(again)).toBe('n'.repeat(50))
    })
  })
})
