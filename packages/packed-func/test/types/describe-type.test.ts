import { describe, expect, it } from 'vitest'
import { describeType, functionDoc, functionMetadata, listTypes, ValueError } from '../../src/index.ts'
import { thrownBy } from '../support.ts'

describe('registered types', () => {
  it('listTypes() returns keys in the order of their indices', () => {
    const keys = listTypes()
    const objects = ['ffi.Object', 'ffi.String', 'ffi.Bytes', 'ffi.Error', 'ffi.Function', 'ffi.Shape', 'ffi.Tensor']
    expect(keys.filter((key) => objects.includes(key))).toEqual(objects)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('describeType() describes every type', () => {
    for (const key of listTypes()) {
      const description = describeType(key)
      expect(description.key).toBe(key)
      expect(Object.isFrozen(description) && Object.isFrozen(description.fields)).toBe(true)
    }
    expect(describeType('ffi.Array').ancestors).toEqual(['ffi.Object'])
  })

  it('an unknown key is a ValueError with similar keys, and leaves no error behind', () => {
    const error = thrownBy(() => describeType('ffi.Arrays')) as ValueError
    expect(error).toBeInstanceOf(ValueError)
    expect(error.sentence).toBe("no type 'ffi.Arrays' is registered")
    expect(error.hint).toContain('ffi.Array')
    expect((thrownBy(() => describeType('zzzzzzzz.Unlike')) as ValueError).hint).toContain('Module.open(path)')
    for (const key of ['', 'a\0b', 7, null]) expect(() => describeType(key as string)).toThrow('key must be')
  })

  it('functionMetadata() and functionDoc() refuse unknown functions', () => {
    expect(functionMetadata('ffi.GetRegisteredTypeKeys') ?? '').toBeTypeOf('string')
    expect(functionDoc('ffi.String')).toBeUndefined()
    for (const ask of [functionMetadata, functionDoc]) {
      expect(() => ask('ffi.Strin')).toThrow('Function ffi.Strin not found')
      expect(() => ask(1 as never)).toThrow('name must be')
    }
  })
})
