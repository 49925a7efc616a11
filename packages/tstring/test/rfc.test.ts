import { gcAllocator, NativeError, type Segment } from '@tenon/core'
import { describe, expect, it } from 'vitest'
import { decodeStruct, encodeStruct, hostAbi, rfcAssign, rfcDealloc, rfcMove, StringTensor } from '../src/index.ts'
import { structSize, type RfcLayout } from '../src/layouts/layout.ts'
import { bytesOf, hex, memory } from './helpers.ts'

const variants: readonly RfcLayout[] = ['rfc16', 'rfc24']

const write = (segment: Segment, bytes: Uint8Array): void => {
  const view = segment.view()
  new Uint8Array(view.buffer, view.byteOffset, bytes.length).set(bytes)
}

/** A string of the RFC, followed by the memory that its container names. */
class RfcString {
  readonly layout: RfcLayout
  readonly whole: Segment
  readonly struct: Segment

  constructor(layout: RfcLayout, container: 'small' | 'offset' | 'prealloc', room = 0) {
    const head = structSize(layout)
    const options = { layout, abi: hostAbi }
    this.layout = layout
    this.whole = gcAllocator.allocate(head + Math.max(room, 1), 16)
    this.struct = this.whole.asSlice(0, head)
    const pointer = this.whole.address + BigInt(head)
    if (container === 'offset')
      write(this.struct, encodeStruct({ type: 'offset', size: room, offset: head, count: 1 }, options))
    if (container === 'prealloc') {
      write(this.struct, encodeStruct({ type: 'prealloc', size: 0, capacity: room, pointer }, options))
    }
  }

  assign(text: string): this {
    rfcAssign(this.struct, this.layout, text)
    return this
  }

  get fields(): ReturnType<typeof decodeStruct> {
    return decodeStruct(bytesOf(this.struct), { layout: this.layout, abi: hostAbi })
  }

  get text(): string {
    const tensor = StringTensor.ofSegment(this.struct, { layout: this.layout, shape: [], validate: 'trusted' })
    return this.fields.type === 'offset'
      ? Buffer.from(this.behind.slice(0, this.fields.size)).toString()
      : tensor.get(0)
  }

  /** The bytes behind the struct. */
  get behind(): Uint8Array {
    return bytesOf(this.whole).slice(structSize(this.layout))
  }

  /** The container that a LARGE keeps in front of its block, moved into a struct of its own. */
  prefix(): Uint8Array {
    rfcDealloc(this.struct, this.layout)
    return bytesOf(this.struct)
  }
}

describe.each(variants)('%s', (layout) => {
  const small = structSize(layout) - 1

  it(`a SMALL holds 15 or 23 bytes`, () => {
    const string = new RfcString(layout, 'small').assign('x'.repeat(small))
    expect(string.fields).toEqual({ type: 'small', bytes: hex(`78*${small}`) })
    expect(string.assign('x'.repeat(small + 1)).fields.type).toBe('large')
    string.prefix()
    const shorter = new RfcString(layout, 'small').assign('x'.repeat(small)).assign('y')
    expect(bytesOf(shorter.struct)).toEqual(hex(`04 79 00*${small - 1}`))
  })

  it('a string that does not fit becomes LARGE, with the old struct in front of its block', () => {
    for (const container of ['small', 'offset', 'prealloc'] as const) {
      const string = new RfcString(layout, container, 8).assign('old')
      const before = bytesOf(string.struct)
      string.assign('n'.repeat(40))
      expect(string.fields).toMatchObject({ type: 'large', size: 40n })
      expect(string.text).toBe('n'.repeat(40))
      expect(string.prefix()).toEqual(before)
    }
  })

  it('the next assignment that fits restores the container and writes in place', () => {
    const offset = new RfcString(layout, 'offset', 8).assign('n'.repeat(40)).assign('eight..!')
    expect(offset.fields).toEqual({ type: 'offset', size: 8, offset: structSize(layout), count: 1 })
    expect(Buffer.from(offset.behind).toString()).toBe('eight..!')
    const prealloc = new RfcString(layout, 'prealloc', 8).assign('n'.repeat(40)).assign('seven..')
    expect(prealloc.fields).toMatchObject({ type: 'prealloc', size: 7, capacity: 8 })
    expect(Buffer.from(prealloc.behind).toString()).toBe('seven..\0')
    const inner = new RfcString(layout, 'small').assign('n'.repeat(40)).assign('back')
    expect(inner.fields).toEqual({ type: 'small', bytes: Uint8Array.from(Buffer.from('back')) })
  })

  it('a PREALLOC of 64 bytes holds 64, becomes LARGE with 65 and is restored; one of 0 holds nothing', () => {
    const string = new RfcString(layout, 'prealloc', 64)
    const types = [64, 65, 64].map((size) => string.assign('x'.repeat(size)).fields.type)
    expect(types).toEqual(['prealloc', 'large', 'prealloc'])
    const none = new RfcString(layout, 'prealloc', 0)
    expect([none.assign('').fields.type, none.assign('x').fields.type]).toEqual(['prealloc', 'large'])
    expect(none.text).toBe('x')
    none.prefix()
  })

  it('the capacity of an OFFSET is its size, so a shorter string loses room', () => {
    const string = new RfcString(layout, 'offset', 8).assign('four')
    expect(string.fields).toMatchObject({ type: 'offset', size: 4 })
    expect(string.assign('five.').fields.type).toBe('large')
    expect(string.assign('4444').fields).toMatchObject({ type: 'offset', size: 4 })
  })

  it('restoring frees the block once', () => {
    const string = new RfcString(layout, 'prealloc', 8)
    for (let i = 0; i < 100; i++) string.assign('x'.repeat(1000)).assign('short')
    expect(string.text).toBe('short')
    rfcDealloc(string.struct, layout)
    rfcDealloc(string.struct, layout)
    expect(string.text).toBe('short')
  })

  it('a larger LARGE keeps the first container, not the LARGE', () => {
    const string = new RfcString(layout, 'prealloc', 8)
    const before = bytesOf(string.struct)
    string.assign('x'.repeat(100)).assign('y'.repeat(1000)).assign('z'.repeat(500))
    expect(string.text).toBe('z'.repeat(500))
    if (layout === 'rfc24') expect(string.fields).toMatchObject({ size: 500n, capacity: 1007n })
    expect(string.prefix()).toEqual(before)
  })

  it('moving rebases an OFFSET, also the one that a LARGE keeps, or refuses', () => {
    const head = structSize(layout)
    const options = { layout, abi: hostAbi }
    const move = (text: string): { moved: Segment; whole: Segment } => {
      // Both structs lie in front of the bytes that the second one names.
      const whole = gcAllocator.allocate(2 * head + 8, 16)
      const [moved, string] = [whole.asSlice(0, head), whole.asSlice(head, head)]
      write(string, encodeStruct({ type: 'offset', size: 8, offset: head, count: 2 }, options))
      rfcAssign(string, layout, text)
      rfcMove(moved, string, layout)
      expect(bytesOf(string)).toEqual(new Uint8Array(head))
      return { moved, whole }
    }
    const plain = move('12345678')
    expect(decodeStruct(bytesOf(plain.moved), options)).toEqual({ type: 'offset', size: 8, offset: 2 * head, count: 2 })
    const large = move('n'.repeat(50))
    expect(decodeStruct(bytesOf(large.moved), options)).toMatchObject({ type: 'large', size: 50n })
    rfcAssign(large.moved, layout, 'restored')
    expect(Buffer.from(bytesOf(large.whole).slice(2 * head)).toString()).toBe('restored')
    // An OFFSET cannot lie behind its bytes, because it reaches only forward.
    const whole = gcAllocator.allocate(2 * head + 16, 16)
    const [string, behind] = [whole.asSlice(0, head), whole.asSlice(head + 16, head)]
    write(string, encodeStruct({ type: 'offset', size: 8, offset: head, count: 1 }, options))
    const before = bytesOf(whole)
    expect(() => rfcMove(behind, string, layout)).toThrow(NativeError)
    expect(bytesOf(whole)).toEqual(before)
  })
})

describe('the choices where the RFC is open', () => {
  it('sizes are encoded as shipped', () => {
    const large = { type: 'large', size: 29n, pointer: 0x1234n } as const
    expect(encodeStruct(large, { layout: 'rfc16', abi: 'le64' })).toEqual(hex('75 00*7 3412000000000000'))
    expect(encodeStruct(large, { layout: 'rfc16', abi: 'be64' })).toEqual(hex('01 00*6 1d 0000000000001234'))
  })

  it('the pointer of a PREALLOC is at byte 8 of both structs', () => {
    const fields = { type: 'prealloc', size: 5, capacity: 64, pointer: 0x1234n } as const
    expect(encodeStruct(fields, { layout: 'rfc16', abi: 'le64' })).toEqual(hex('17000000 40000000 3412000000000000'))
    expect(encodeStruct(fields, { layout: 'rfc24', abi: 'be64' })).toEqual(
      hex('03000005 00000040 0000000000001234 00*8'),
    )
    for (const abi of ['le64', 'be64', 'le32', 'be32'] as const) {
      for (const layout of variants)
        expect(decodeStruct(encodeStruct(fields, { layout, abi }), { layout, abi })).toEqual(fields)
    }
  })

  it('the larger struct keeps its block while the bytes fit, and the smaller one has an exact block', () => {
    const string = new RfcString('rfc24', 'small').assign('x'.repeat(100))
    const { fields } = string
    expect(fields).toMatchObject({ capacity: 111n })
    expect(string.assign('y'.repeat(111)).fields).toEqual({ ...fields, size: 111n })
    string.prefix()
  })

  it('freeing a LARGE restores its container', () => {
    const string = new RfcString('rfc16', 'small').assign('kept').assign('x'.repeat(100))
    rfcDealloc(string.struct, 'rfc16')
    expect(string.text).toBe('kept')
  })

  it('a packed tensor has structs first, then the bytes in order, and the count in every struct', () => {
    const tensor = StringTensor.from(['ab', '', 'cde'], { layout: 'rfc16', inline: false })
    const expected = hex(`
      0a000000 30000000 03000000 00000000
      02000000 22000000 03000000 00000000
      0e000000 12000000 03000000 00000000
      6162 636465`)
    expect(bytesOf(tensor.segment)).toEqual(expected)
    expect(StringTensor.ofSegment(memory(expected), { layout: 'rfc16', shape: [3] }).toArray()).toEqual([
      'ab',
      '',
      'cde',
    ])
  })
})

describe('tensors of the RFC', () => {
  it('set strings in place if they fit, and in the arena otherwise', () => {
    for (const layout of variants) {
      const tensor = StringTensor.ofCapacity(3, 8, { layout })
      tensor.set(0, 'first')
      tensor.set(1, 'eight..!')
      tensor.set(2, 'more than eight')
      expect(tensor.toArray()).toEqual(['first', 'eight..!', 'more than eight'])
      tensor.set(2, 'less')
      expect([tensor.get(2), tensor.type(2)]).toEqual(['less', 'prealloc'])
      using owned = StringTensor.from(['a', 'b'.repeat(50)], { layout, storage: 'malloc' })
      owned.set(0, 'c'.repeat(80))
      owned.set(1, 'short')
      expect(owned.toArray()).toEqual(['c'.repeat(80), 'short'])
      expect([owned.type(0), owned.type(1)]).toEqual(['large', 'small'])
    }
  })

  it('overwrite the bytes of an OFFSET that has enough of them', () => {
    const tensor = StringTensor.from(['l'.repeat(30), 'm'.repeat(30)], { layout: 'rfc24' })
    tensor.set(1, 'n'.repeat(25))
    expect([tensor.type(1), tensor.get(0), tensor.get(1)]).toEqual(['offset', 'l'.repeat(30), 'n'.repeat(25)])
    tensor.set(1, 'o'.repeat(26))
    expect([tensor.type(1), tensor.get(1)]).toEqual(['prealloc', 'o'.repeat(26)])
  })
})
