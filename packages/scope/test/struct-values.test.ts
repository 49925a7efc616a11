import { ArgumentError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { type Layout, MemoryLayout, NativeScope } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'

const { int8, int32, uint8, address, struct, sequence, padding } = MemoryLayout
const abs = SymbolLookup.ofProcess().get('abs')
const link = (members: Readonly<Record<string, Layout>>, result = false): unknown => {
  const layout = struct(members)
  return Linker.downcall(abs, result ? { result: layout, parameters: ['int32'] } : { parameters: [layout] })
}

describe('structs passed by value', () => {
  test.each([
    ['an empty struct', {}, /at least one member that is not padding, got none/],
    ['padding alone', { _: padding(8) }, /at least one member that is not padding, got none/],
    ['an array without elements alone', { a: sequence(int32, 0) }, /at least one member that is not padding, got none/],
    ['an open array', { a: int32, b: sequence(int32) }, /must have a size, but it ends with an open sequence/],
    ['an alignment above 16', { a: int32.withByteAlignment(32) }, /aligned to at most 16 bytes, got 32/],
    [
      'another byte order',
      { a: uint8, b: int32.withOrder('big') },
      /must have the byte order of the machine.*got the member :int32>%4 of/,
    ],
    ['a pointer in another byte order', { a: address.withOrder('big') }, /must have the byte order of the machine/],
    ['an inner array in another byte order', { a: sequence(struct({ b: int32.withOrder('big') }), 2) }, /byte order/],
  ])('are refused with %s', (_, members, message) => {
    for (const result of [false, true]) {
      expect(() => link(members, result)).toThrow(ArgumentError)
      expect(() => link(members, result)).toThrow(message)
    }
  })

  test('can have members with any name, alignments up to 16, no alignment, and arrays without elements', () => {
    const members = [
      { 'two words': int32, '': int32, 'x;y': int32, const: int32 },
      { a: int32, b: sequence(int32, 0) },
      { a: int32, b: sequence(sequence(int32, 0), 2 ** 40) },
      { a: int8, b: int32.withByteAlignment(1) },
      { a: int32.withByteAlignment(16) },
    ]
    NativeScope.ofConfined().run((scope) => {
      for (const shape of members) {
        const layout = struct(shape as Record<string, Layout>)
        const call = Linker.downcall(abs, { parameters: [layout] })
        expect(call(scope.allocate(layout.byteSize!, 16))).toBe(undefined)
      }
    })
  })
})
