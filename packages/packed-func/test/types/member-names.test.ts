import { describe, expect, test } from 'vitest'
import { classNameOf, nameMembers } from '../../src/types/member-names.ts'

const namesOf = (names: readonly string[], isStatic = false): string[] =>
  nameMembers(
    names.map((name) => ({ name })),
    isStatic,
  ).map(({ name, camelName }) => (camelName === undefined ? name : `${name}, ${camelName}`))

describe('the name of a class', () => {
  test.each([
    ['xgrammar.tvm_ffi_binding.Grammar', 'Grammar'],
    ['Plain', 'Plain'],
    ['a.b-c d', 'b_c_d'],
    ['a.2D', '_2D'],
    ['a.Größe', 'Größe'],
    ['a.', '_'],
    ["a.X');evil('", 'X___evil__'],
    ['a.\u{1f600}', '_'],
  ])('of %j is %s', (key, name) => {
    expect(classNameOf(key)).toBe(name)
  })
})

describe('the names of members', () => {
  test.each([
    ['v_i64', 'v_i64, vI64'],
    ['fill_next_token_bitmask', 'fill_next_token_bitmask, fillNextTokenBitmask'],
    ['_debug_print', '_debug_print, _debugPrint'],
    ['trailing_', 'trailing_'],
    ['a__b', 'a__b'],
    ['plain', 'plain'],
    ['x_1', 'x_1, x1'],
    ['a b', 'a b'],
  ])('%s is %s', (name, names) => {
    expect(namesOf([name])).toEqual([names])
  })
})

describe('a name that is taken', () => {
  test('by another member of the type has no camelCase form', () => {
    expect(namesOf(['a_b', 'aB'])).toEqual(['a_b', 'aB'])
    expect(namesOf(['a_b', 'a_B'])).toEqual(['a_b, aB', 'a_B'])
  })

  test('by NativeObject or JavaScript gets an underscore', () => {
    expect(namesOf(['close', 'close_', 'constructor', 'then', '__proto__', 'valueOf', 'is_alive'])).toEqual([
      'close__',
      'close_',
      'constructor_',
      'then_',
      '__proto___',
      'valueOf_',
      'is_alive',
    ])
    expect(namesOf(['name', 'length', 'prototype', 'type_key', 'call', 'close'], true)).toEqual([
      'name_',
      'length_',
      'prototype_',
      'type_key',
      'call',
      'close',
    ])
  })

  test('is free for to_string of the object alone', () => {
    const method = (...args: string[]): { name: string; type: string } => ({
      name: 'to_string',
      type: JSON.stringify({ type: 'ffi.Function', args: args.map((type) => ({ type })) }),
    })
    expect(nameMembers([method('ffi.String', 'x.Y')], false)[0]!.camelName).toBe('toString')
    expect(nameMembers([method('ffi.String', 'x.Y', 'int')], false)[0]!.camelName).toBe(undefined)
    expect(nameMembers([method('ffi.String', 'x.Y')], true)[0]!.camelName).toBe('toString')
  })

  test('and a second registration and the constructor are no members', () => {
    expect(namesOf(['f', 'f', '__ffi_init__'])).toEqual(['f'])
  })
})
