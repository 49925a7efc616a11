import { describe, expect, it } from 'vitest'
import { LoadError, Tensor } from '@tenon/core'
import {
  type Argument,
  callLegacy,
  DataType,
  legacyFunc,
  OpaquePointer,
  PackedFunc,
  packedFunc,
  type PackedFuncError,
  type TVMRetValue,
  type TVMArgValue,
  type TypeCode,
} from '../src/index.ts'
import { isOwnLibrary, kernel, thrownBy } from './support.ts'

/*
 * The conversions of TVM 0.18: a row for each value, a column for each C++ type that it is read as. `·` is an error, `ok` is the value
 * itself. The table is written by hand from the rules and does not come from the code.
 */
const table = `
source         | int64 | int32 | uint64 | double | bool | void* | DLTensor* | NDArray | PackedFunc | string | DLDataType | Device
int 5          | 5     | 5     | 5      | 5.0    | true | ·     | ·         | ·       | ·          | ·      | ·          | ·
int 2^40       | ok    | ·     | ok     | ok     | true | ·     | ·         | ·       | ·          | ·      | ·          | ·
int -1         | -1    | -1    | 2^64-1 | -1.0   | true | ·     | ·         | ·       | ·          | ·      | ·          | ·
bool (code 15) | 1     | 1     | 1      | 1.0    | true | ·     | ·         | ·       | ·          | ·      | ·          | ·
float 2.5      | ·     | ·     | ·      | 2.5    | ·    | ·     | ·         | ·       | ·          | ·      | ·          | ·
null           | ·     | ·     | ·      | ·      | ·    | NULL  | NULL      | null    | null       | ·      | void       | ·
opaque handle  | ·     | ·     | ·      | ·      | ·    | ok    | ·         | ·       | ·          | ·      | ·          | ·
str            | ·     | ·     | ·      | ·      | ·    | ·     | ·         | ·       | ·          | ok     | parsed     | ·
bytes          | ·     | ·     | ·      | ·      | ·    | ·     | ·         | ·       | ·          | ok     | ·          | ·
dtype          | ·     | ·     | ·      | ·      | ·    | ·     | ·         | ·       | ·          | text   | ok         | ·
device         | ·     | ·     | ·      | ·      | ·    | ·     | ·         | ·       | ·          | ·      | ·          | ok
DLTensor*      | ·     | ·     | ·      | ·      | ·    | ok    | ok        | ·       | ·          | ·      | ·          | ·
NDArray        | ·     | ·     | ·      | ·      | ·    | ·     | ok        | ok      | ·          | ·      | ·          | ·
PackedFunc     | ·     | ·     | ·      | ·      | ·    | ·     | ·         | ·       | ok         | ·      | ·          | ·
runtime.String | ·     | ·     | ·      | ·      | ·    | ·     | ·         | ·       | ·          | ok     | parsed     | ·`

const [header, ...rows] = table
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim())) as [string[], ...string[][]]
const cells = rows.flatMap(([source, ...results]) =>
  results.map((result, i) => [source!, header[i + 1]!, result] as const),
)

/** The names of the columns as the API has them. */
const targets: Readonly<Record<string, Parameters<TVMArgValue['as']>[0]>> = { Device: 'DLDevice' }

/** The codes under which the values arrive. */
const codes: Readonly<Record<string, TypeCode>> = {
  'int 5': 0,
  'int 2^40': 0,
  'int -1': 0,
  'bool (code 15)': 15,
  'float 2.5': 2,
  null: 4,
  'opaque handle': 3,
  str: 11,
  bytes: 12,
  dtype: 5,
  device: 6,
  'DLTensor*': 7,
  NDArray: 13,
  PackedFunc: 10,
  'runtime.String': 8,
}

/** The names of the type codes in messages. */
const names: Readonly<Record<number, string>> = {
  0: 'int',
  2: 'float',
  3: 'handle',
  4: 'NULL',
  5: 'DLDataType',
  6: 'DLDevice',
  7: 'ArrayHandle',
  8: 'Object',
  10: 'FunctionHandle',
  11: 'str',
  12: 'bytes',
  13: 'NDArrayContainer',
  15: 'bool',
}

/** The message for a value that does not convert to a type. */
const message = (source: string, target: string): string => {
  const code = codes[source]!
  const got = names[code]!
  const check = (name: string, wanted: number): string =>
    `Check failed: type_code_ == ${name} (${code} vs. ${wanted}) : expected ${names[wanted]} but got ${got}`
  if (source === 'int 2^40' && target === 'int32')
    return 'Check failed: value_.v_int64 <= std::numeric_limits<int>::max() (1099511627776 vs. 2147483647) : '
  switch (target) {
    case 'int64':
    case 'int32':
    case 'uint64':
    case 'bool':
      return `expected int but got ${got}`
    case 'double':
      return check('kTVMArgFloat', 2)
    case 'void*':
      return check('kTVMOpaqueHandle', 3)
    case 'DLTensor*':
      return `Expected DLTensor* or NDArray but got ${got}`
    case 'NDArray':
      return check('kTVMNDArrayHandle', 13)
    case 'PackedFunc':
      return check('kTVMPackedFuncHandle', 10)
    case 'string':
      return code === 4 ? 'Expect a not null value of runtime.String' : check('kTVMStr', 11)
    case 'DLDataType':
      return check('kTVMDataType', 5)
    default:
      return check('kDLDevice', 6)
  }
}

/** A value in the form that the table uses. */
function inWords(value: unknown, source: string): unknown {
  if (value instanceof Tensor) return value.toArray()
  if (value instanceof DataType) return [value.code, value.bits, value.lanes]
  if (value instanceof OpaquePointer) return value.address !== 0n
  if (value instanceof PackedFunc) return 'a function'
  return source === 'device' && typeof value === 'object' ? { ...(value as object) } : value
}

/** The meanings of `ok`, `parsed` and `text` for each row. */
const own: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'int 2^40': { ok: 2 ** 40 },
  'opaque handle': { ok: true },
  str: { ok: 'float32', parsed: [2, 32, 1] },
  bytes: { ok: 'bytes' },
  dtype: { ok: [2, 16, 2], text: 'float16x2' },
  device: { ok: { type: 2, id: 3 } },
  NDArray: { ok: [1.5, 2.5] },
  PackedFunc: { ok: 'a function' },
  'runtime.String': { ok: 'float8_e4m3fn', parsed: [10, 8, 1] },
}

/** The expected value of a cell. */
function expected(source: string, target: string, result: string): unknown {
  if (source === 'DLTensor*') return target === 'void*' ? true : [1.5, 2.5]
  switch (result) {
    case 'NULL':
    case 'null':
      return null
    case 'void':
      return [3, 0, 0]
    case 'true':
      return true
    case '2^64-1':
      return 2n ** 64n - 1n
    case 'ok':
    case 'parsed':
    case 'text':
      return own[source]![result]
    default:
      return Number(result)
  }
}

/** Reads a value that a kernel passes as a type. An error is thrown through the kernel. */
function readAs(source: string, target: string): unknown {
  let outcome: unknown
  const read = legacyFunc((args) => {
    expect([args.length, args.at(0).typeCode]).toEqual([1, codes[source]])
    const value = args.at(0).as(targets[target] ?? (target as 'int64'))
    outcome = inWords(value, source)
  })
  try {
    kernel('pass', 'packed_legacy_sources')(source, read)
    return outcome
  } finally {
    read.close()
  }
}

/** Passes a value through a function of TVM to 0.20, and reads the result as a type. */
function resultAs(source: string, target: string): unknown {
  const giveBack = kernel('make_give_back', 'packed_legacy_sources')() as PackedFunc
  let given: TVMRetValue | undefined
  const read = packedFunc((value: Argument) => void (given = callLegacy(giveBack, value)))
  kernel('pass', 'packed_legacy_sources')(source, read)
  expect(given!.typeCode).toBe(codes[source])
  return inWords(given!.as(targets[target] ?? (target as 'int64')), source)
}

if (isOwnLibrary)
  describe('conversion of TVM 0.18', () => {
    it.each(cells)('%s as %s: %s', (source, target, result) => {
      if (result === '·') {
        const { kind, sentence } = thrownBy(() => readAs(source, target)) as PackedFuncError
        expect([kind, sentence]).toEqual(['InternalError', message(source, target)])
        return
      }
      expect(readAs(source, target)).toEqual(expected(source, target, result))
    })

    // A borrowed tensor cannot be returned.
    it.each(cells.filter(([source]) => source !== 'DLTensor*'))('a result: %s as %s: %s', (source, target, result) => {
      if (result !== '·') {
        expect(resultAs(source, target)).toEqual(expected(source, target, result))
        return
      }
      const { kind, sentence } = thrownBy(() => resultAs(source, target)) as PackedFuncError
      expect([kind, sentence]).toEqual(['InternalError', message(source, target)])
    })

    it('the table has all cells', () => {
      expect(cells).toHaveLength(15 * 12)
      expect(cells.filter(([, , result]) => result === '·')).toHaveLength(180 - 39)
    })
  })
else
  it('another tvm-ffi library has no kernels of TVM to 0.20', () => {
    expect(() => kernel('pass', 'packed_legacy_sources')).toThrow(LoadError)
  })
