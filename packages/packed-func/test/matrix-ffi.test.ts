import { describe, expect, it } from 'vitest'
import { Tensor } from '@tenon/core'
import {
  accept,
  type Acceptor,
  DataType,
  NativeArray,
  NativeShape,
  OpaquePointer,
  PackedFunc,
  PackedFuncError,
  typedFunc,
} from '../src/index.ts'
import { kernel } from './support.ts'

/*
 * The conversions of tvm-ffi: a row for each value, a column for each C++ type that it is read as. `·` is a TypeError. An empty cell
 * was never measured. The table is written by hand from the rules and does not come from the code.
 */
const table = `
source        | int64 | bool | StrictBool | double | void* | String      | std::string | Bytes | DataType | Device | DLTensor*/View | Tensor | Function | ObjectRef | Shape | Array<int> | Optional<int>
None          | ·     | ·    | ·          | ·      | NULL  | ·           | ·           | ·     | ·        | ·      | ·              | null   | null     | null      | ·     | ·          | nullopt
Int           | ok    | ok   | ·          | ok     | ·     | ·           | ·           | ·     | ·        | ·      | ·              | ·      | ·        | ·         | ·     | ·          | ok
Bool          | ok    | ok   | ok         | ok     | ·     | ·           | ·           | ·     | ·        | ·      | ·              | ·      | ·        | ·         | ·     | ·          | ok
Float         | ·     | ·    | ·          | ok     | ·     | ·           | ·           | ·     | ·        | ·      | ·              | ·      | ·        | ·         | ·     | ·          | ·
OpaquePtr     | ·     | ·    | ·          | ·      | ok    | ·           | ·           | ·     | ·        | ·      | ·              | ·      | ·        | ·         | ·     | ·          | ·
DataType      |       |      |            |        |       | ·           | ·           | ·     | ok       | ·      | ·              | ·      | ·        | ·         | ·     | ·          | ·
Device        |       |      |            |        |       | ·           | ·           | ·     | ·        | ok     | ·              | ·      | ·        | ·         | ·     | ·          | ·
DLTensorPtr   |       |      |            |        | ·     | ·           | ·           | ·     | ·        | ·      | ok             | ·      | ·        | ·         | ·     | ·          | ·
RawStr        |       |      |            |        |       | ok (copies) | ok          | ·     | parse    | parse  | ·              | ·      | ·        | ·         | ·     | ·          | ·
ByteArrayPtr  |       |      |            |        |       | ·           | ok          | ok    | parse    | ·      | ·              | ·      | ·        | ·         | ·     | ·          | ·
SmallStr      |       |      |            |        |       | ok          | ok          | ·     | parse    | parse  | ·              | ·      | ·        | ·         | ·     | ·          | ·
SmallBytes    |       |      |            |        |       | ·           | ok          | ok    | parse    | ·      | ·              | ·      | ·        | ·         | ·     | ·          | ·
Str           |       |      |            |        |       | ok          | ok          | ·     | parse    | parse  | ·              | ·      | ·        | ok        | ·     | ·          | ·
Function      |       |      |            |        |       |             |             |       |          |        | ·              | ·      | ok       | ok        | ·     | ·          | ·
Tensor        |       |      |            |        |       |             |             |       |          |        | ok             | ok     | ·        | ok        | ·     | ·          | ·
Shape         |       |      |            |        |       |             |             |       |          |        | ·              | ·      | ·        | ok        | ok    | ·          | ·
Array of ints |       |      |            |        |       |             |             |       |          |        | ·              | ·      | ·        | ok        | ok    | ok         | ·`

const [header, ...rows] = table
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim())) as [string[], ...string[][]]
const cells = rows
  .flatMap(([source, ...results]) => results.map((result, i) => [source!, header[i + 1]!, result] as const))
  .filter(([, , result]) => result !== '')

/** The types of the columns. */
const acceptors: Readonly<Record<string, Acceptor<unknown>>> = {
  int64: accept.int,
  bool: accept.bool,
  StrictBool: accept.strictBool,
  double: accept.float,
  'void*': accept.pointer,
  String: accept.str,
  'std::string': accept.text,
  Bytes: accept.bytes,
  DataType: accept.dtype,
  Device: accept.device,
  'DLTensor*/View': accept.tensorView,
  Tensor: accept.tensor,
  Function: accept.func,
  ObjectRef: accept.object,
  Shape: accept.shape,
  'Array<int>': accept.array(accept.int),
  'Optional<int>': accept.optional(accept.int),
}

/** The names of the columns in messages. */
const expectedNames: Readonly<Record<string, string>> = {
  int64: 'int',
  bool: 'bool',
  StrictBool: 'bool',
  double: 'float',
  'void*': 'void*',
  String: 'str',
  'std::string': 'std::string',
  Bytes: 'bytes',
  DataType: 'DataType',
  Device: 'Device',
  'DLTensor*/View': 'DLTensor*',
  Tensor: 'ffi.Tensor',
  Function: 'ffi.Function',
  ObjectRef: 'ffi.Object',
  Shape: 'ffi.Shape',
  'Array<int>': 'Array<int>',
  'Optional<int>': 'Optional<int>',
}
const gotNames: Readonly<Record<string, string>> = {
  None: 'None',
  Int: 'int',
  Bool: 'bool',
  Float: 'float',
  OpaquePtr: 'void*',
  DataType: 'DataType',
  Device: 'Device',
  DLTensorPtr: 'DLTensor*',
  RawStr: 'const char*',
  ByteArrayPtr: 'TVMFFIByteArray*',
  SmallStr: 'ffi.SmallStr',
  SmallBytes: 'ffi.SmallBytes',
  Str: 'ffi.String',
  Function: 'ffi.Function',
  Tensor: 'ffi.Tensor',
  Shape: 'ffi.Shape',
  'Array of ints': 'ffi.Array',
}

/** The values of the rows, as {@link inWords} writes them. */
const own: Readonly<Record<string, unknown>> = {
  OpaquePtr: 'a pointer',
  DataType: [2, 16, 2],
  Device: { type: 2, id: 3 },
  DLTensorPtr: [1.5, 2.5],
  RawStr: 'float32',
  ByteArrayPtr: 'float32',
  SmallStr: 'float32',
  SmallBytes: 'float32',
  Str: 'float8_e4m3fn',
  Function: 'a function',
  Tensor: [1.5, 2.5],
  Shape: [2, 3],
  'Array of ints': [2, 3],
}

function inWords(value: unknown): unknown {
  if (value instanceof Tensor || value instanceof NativeShape || value instanceof NativeArray) return value.toArray()
  if (value instanceof DataType) return [value.code, value.bits, value.lanes]
  if (value instanceof OpaquePointer) return 'a pointer'
  if (value instanceof PackedFunc) return 'a function'
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  return typeof value === 'object' && value !== null && 'type' in value ? { ...value } : value
}

/** The expected value of a cell. */
function expected(source: string, target: string, result: string): unknown {
  if (['NULL', 'null', 'nullopt'].includes(result)) return null
  if (result === 'parse' && target === 'Device')
    return { RawStr: { type: 2, id: 1 }, SmallStr: { type: 1, id: 0 }, Str: { type: 3, id: 2 } }[source]
  if (result === 'parse') return source === 'Str' ? [10, 8, 1] : [2, 32, 1]
  if (source === 'Float') return 2
  if (source === 'Int') return target === 'bool' ? true : 5
  if (source === 'Bool') return ['bool', 'StrictBool'].includes(target) ? true : 1
  return own[source]
}

/** Reads a value that a kernel passes as a type. */
function readAs(source: string, target: string, result: string): unknown {
  let outcome: unknown = 'nothing'
  const read = typedFunc([acceptors[target]!], (value) => void (outcome = inWords(value)), { name: 'read' })
  const name = result === 'parse' && target === 'Device' ? `${source} of a device` : source
  try {
    kernel('pass', 'packed_sources')(name, read)
    return outcome
  } finally {
    read.close()
  }
}

describe('conversion of tvm-ffi', () => {
  it.each(cells)('%s as %s: %s', (source, target, result) => {
    if (result !== '·') {
      expect(readAs(source, target, result)).toEqual(expected(source, target, result))
      return
    }
    let error: unknown
    try {
      readAs(source, target, result)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(PackedFuncError)
    const { kind, sentence } = error as PackedFuncError
    const type = expectedNames[target]!
    expect([kind, sentence]).toEqual([
      'TypeError',
      `Mismatched type on argument #0 when calling: \`read(0: ${type}) -> Any\`. ` +
        `Expected \`${type}\` but got \`${gotNames[source]}\``,
    ])
  })

  it('the table has all cells', () => {
    expect(rows).toHaveLength(17)
    expect(rows.every((row) => row.length === 18)).toBe(true)
    expect(cells.filter(([, , result]) => result !== '·')).toHaveLength(48)
  })
})

describe('typedFunc', () => {
  const failureOf = (run: () => unknown): string[] => {
    try {
      run()
    } catch (error) {
      return [(error as PackedFuncError).kind, (error as PackedFuncError).sentence]
    }
    return []
  }

  it('the number of arguments is checked first', () => {
    const add = typedFunc([accept.int, accept.int], (a, b) => Number(a) + Number(b), { name: 'add', result: 'int' })
    expect(add(1, true)).toBe(2)
    expect(failureOf(() => add('x'))).toEqual([
      'TypeError',
      'Mismatched number of arguments when calling: `add(0: int, 1: int) -> int`. Expected 2 but got 1 arguments',
    ])
  })

  it('a function without a name prints its signature alone', () => {
    expect(failureOf(() => typedFunc([accept.str], () => {})(1))).toEqual([
      'TypeError',
      'Mismatched type on argument #0 when calling: `(0: str) -> Any`. Expected `str` but got `int`',
    ])
  })

  it('text that names no element type is a ValueError', () => {
    expect(failureOf(() => typedFunc([accept.dtype], () => {})('nothing'))[0]).toBe('ValueError')
  })

  it('text that names no device is a mismatch', () => {
    const read = typedFunc([accept.device], ({ type, id }) => [type, id])
    expect((read('cuda') as NativeArray).toArray()).toEqual([2, 0])
    expect(failureOf(() => read('nothing'))[1]).toContain('Expected `Device` but got `ffi.SmallStr`')
  })

  it('std::string is read from text and bytes', () => {
    const read = typedFunc([accept.text], (text) => text)
    expect([read('text'), read(Buffer.from('bytes')), read('long enough for an object\0')]).toEqual([
      'text',
      'bytes',
      'long enough for an object\0',
    ])
  })

  it('an array is read element by element, and a mismatch names the element', () => {
    const sum = typedFunc([accept.array(accept.int)], (values) => values.reduce((a, b) => Number(a) + Number(b), 0))
    expect(sum([1, true, 3])).toBe(5)
    expect(failureOf(() => sum([1, 1.5]))[1]).toContain('Expected `Array<int>` but got `Array[index 1: float]`')
    expect(typedFunc([accept.shape], (sizes) => sizes.length)([4, 5, 6])).toBe(3)
    const nested = typedFunc([accept.array(accept.array(accept.int))], () => {})
    expect(failureOf(() => nested([[1], [1, 'x']]))[1]).toContain('`Array[index 1: Array[index 1: ffi.SmallStr]]`')
  })

  it('a map is read entry by entry, and a mismatch names the side', () => {
    const read = typedFunc([accept.map(accept.str, accept.int)], (map) => [...map.values()].map(Number))
    expect((read(new Map([['a', 1], ['b', 2]])) as NativeArray).toArray()).toEqual([1, 2]) // prettier-ignore
    expect(typedFunc([accept.map(accept.any, accept.any)], (map) => map.size)(new Map())).toBe(0)
    expect(failureOf(() => read(new Map([['a', 'x']])))[1]).toContain('but got `Map[K, ffi.SmallStr]`')
    expect(failureOf(() => read(new Map([[1, 1]])))[1]).toContain('but got `Map[int, V]`')
  })

  it('an optional type also accepts null', () => {
    const read = typedFunc([accept.optional(accept.str), accept.any], (text) => text)
    expect([read(null, 1), read('x', [])]).toEqual([null, 'x'])
  })

  it('refuses a value that is not a function', () => {
    expect(() => typedFunc([], 3 as never)).toThrow('run must be a function, got 3')
  })
})
