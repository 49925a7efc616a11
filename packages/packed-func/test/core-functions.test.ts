import { describe, expect, it } from 'vitest'
import { getGlobal, listGlobalNames, type NativeArray, type NativeObject, type PackedFuncError } from '../src/index.ts'
import { describeType } from '../src/types/describe-type.ts'
import { isOwnLibrary, kernel, live, thrownBy } from './support.ts'

/** The functions that libraries call while they register their types, or that bindings of other languages need. */
const NAMES = [
  'ffi._RegisterFFIInit',
  'ffi.MakeObjectFromPackedArgs',
  'ffi.ListEraseRange',
  'ffi.ListReplaceSlice',
  'ffi.ListReverse',
  'ffi.ContainerFindFirstNonCPUDevice',
  'ffi.ModuleGetWriteFormats',
  'ffi.ModuleInspectSource',
  'ffi.ModuleWriteToFile',
]

const make = getGlobal('ffi.MakeObjectFromPackedArgs')

function numbers(list: NativeArray): unknown[] {
  return [...list]
}

describe('the tvm-ffi library', () => {
  it('registers the functions that libraries and bindings look up', () => {
    expect(listGlobalNames()).toEqual(expect.arrayContaining(NAMES))
  })

  it('has the types of enumerations with their fields', () => {
    const fields = (key: string): string[] => describeType(key).fields.map(({ name }) => name)
    expect(fields('ffi.Enum')).toEqual(['_int_index', '_str_index'])
    expect(fields('ffi.IntEnum')).toEqual(['value'])
    expect(fields('ffi.StrEnum')).toEqual(['value'])
    expect(fields('ffi.EnumState')).toEqual(['entries', 'indexes', 'attrs'])
    expect(describeType('ffi.IntEnum').ancestors).toContain('ffi.Enum')
    expect(describeType('ffi.Enum').fields.every(({ writable }) => !writable)).toBe(true)
  })

  it('makes objects of names and values, and names the field that is missing', () => {
    const before = live()
    const made = make('ffi.IntEnum', '_int_index', 3, '_str_index', 'three', 'value', 3) as NativeObject
    expect(made.typeKey).toBe('ffi.IntEnum')
    made.close()
    const missing = thrownBy(() => make('ffi.IntEnum', '_int_index', 3)) as PackedFuncError
    expect([missing.kind, missing.sentence]).toEqual([
      'TypeError',
      'Required field `_str_index` not set in type `ffi.IntEnum`',
    ])
    expect(live().held).toBe(before.held)
  })

  it('erases, replaces and reverses ranges of a list', () => {
    const list = getGlobal('ffi.List')(0, 1, 2, 3, 4) as NativeArray
    getGlobal('ffi.ListEraseRange')(list, 1, 3)
    expect(numbers(list)).toEqual([0, 3, 4])
    getGlobal('ffi.ListReplaceSlice')(list, 1, 2, list)
    expect(numbers(list)).toEqual([0, 0, 3, 4, 4])
    getGlobal('ffi.ListReverse')(list)
    expect(numbers(list)).toEqual([4, 4, 3, 0, 0])
    const error = thrownBy(() => getGlobal('ffi.ListEraseRange')(list, 3, 9)) as PackedFuncError
    expect([error.kind, error.sentence]).toEqual(['IndexError', 'Erase range [3, 9) out of bounds 5'])
  })

  it('finds the first device that is not the CPU', () => {
    const find = getGlobal('ffi.ContainerFindFirstNonCPUDevice')
    expect(String(find([1, [2, 'x'], new Map([['a', 1]])]))).toBe(String(find(0)))
    if (!isOwnLibrary) return
    const list = getGlobal('ffi.List')() as NativeArray
    getGlobal('ffi.ListAppend')(list, list)
    const error = thrownBy(() => find(list)) as PackedFuncError
    expect(error.kind).toBe('RecursionError')
    getGlobal('ffi.ListClear')(list)
  })

  it('initializers of types are refused for indices that no type has', () => {
    kernel('sum')
    for (const index of [-1, 65_535, 2 ** 40].slice(0, isOwnLibrary ? 3 : 0)) {
      const error = thrownBy(() => getGlobal('ffi._RegisterFFIInit')(index)) as PackedFuncError
      expect(error.sentence).toBe(`Cannot find type info for type_index=${index}`)
    }
  })
})
