import { describe, expect, it } from 'vitest'
import { tensor } from '@tenon/core'
import {
  dataType,
  declarationOf,
  device,
  getGlobal,
  NativeArray,
  NativeMap,
  NativeShape,
  packedFunc,
  PackedFunc,
  rvalue,
  shape,
  typedBy,
  type Argument,
  type Value,
} from '../src/index.ts'
import { schemaText } from '../src/typed/schema-text.ts'
import { readTypeSchema } from '../src/typed/type-schema.ts'

const of = (type: string, ...args: unknown[]): unknown => (args.length === 0 ? { type } : { type, args })
const textOf = (schema: unknown, use: 'argument' | 'result' | 'raw'): string =>
  schemaText(readTypeSchema(JSON.stringify(schema))!, use, (key) => (key === 'x.Y' ? 'Y' : 'NativeObject'))

const metadataOf = (...args: unknown[]): string =>
  JSON.stringify({ type_schema: JSON.stringify({ type: 'ffi.Function', args }) })
const echo = packedFunc((x: Value) => x)

/** What a call with the value returns, if parameter and result have the schema. */
const passed = (schema: unknown, value: unknown): unknown =>
  typedBy(echo, metadataOf(schema, schema))(value as Argument)

const [int, float, text] = [of('int'), of('float'), of('ffi.String')]
const none = null
const list = getGlobal('ffi.List')(1, 2)
const dict = getGlobal('ffi.Dict')('a', 1)

/** Every type that tvm-ffi emits: its text as an argument, as a result, and as a raw value, and a value of it. */
const rows: readonly (readonly [schema: unknown, argument: string, result: string, raw: string, value: unknown])[] = [
  [of('Any'), 'Argument', 'Value', 'Value', 'anything'],
  [of('ffi.OpaquePyObject'), 'Argument', 'Value', 'Value', 1],
  [of('None'), 'null', 'null', 'null', none],
  [of('bool'), 'boolean', 'boolean', 'boolean', true],
  [int, 'number | bigint', 'number | bigint', 'number | bigint', 2n ** 60n],
  [float, 'number', 'number', 'number', 1.5],
  [text, 'string', 'string', 'string', 'text of many bytes'],
  [of('ffi.SmallStr'), 'string', 'string', 'string', 'abc'],
  [of('const char*'), 'string', 'string', 'string', 'abc'],
  [of('std::string'), 'string | Uint8Array', 'string', 'string', 'abc'],
  [of('ffi.Bytes'), 'Uint8Array', 'Uint8Array', 'Uint8Array', new Uint8Array(9)],
  [of('ffi.SmallBytes'), 'Uint8Array', 'Uint8Array', 'Uint8Array', new Uint8Array(2)],
  [of('TVMFFIByteArray*'), 'Uint8Array', 'Uint8Array', 'Uint8Array', new Uint8Array(2)],
  [of('DataType'), 'DataType | string', 'DataType', 'DataType', dataType('int8')],
  [of('Device'), 'Device', 'Device', 'Device', device('cuda:1')],
  [of('void*'), 'OpaquePointer | null', 'OpaquePointer | null', 'OpaquePointer | null', none],
  [of('ffi.Tensor'), 'Tensor | ReadOnlyTensor', 'Tensor', 'Tensor', tensor('int8', [2])],
  [of('DLTensor*'), 'Tensor | TensorView | ReadOnlyTensor', 'Tensor', 'Tensor', tensor('int8', [2])],
  [of('ffi.Shape'), 'NativeShape | readonly (number | bigint)[]', 'NativeShape', 'NativeShape', undefined],
  [of('ffi.Module'), 'Module', 'Module', 'Module', undefined],
  [of('ffi.Error'), 'Error', 'Error', 'Error', undefined],
  [of('ffi.Object'), 'NativeObject', 'NativeObject', 'NativeObject', undefined],
  [of('x.Y'), 'Y', 'Y', 'Y', undefined],
  [of('x.Z'), 'NativeObject', 'NativeObject', 'NativeObject', undefined],
  [of('Optional', float), 'number | null', 'number | null', 'number | null', none],
  [of('std::optional', text), 'string | null', 'string | null', 'string | null', 'x'],
  [of('Optional', of('Optional', of('void*'))), ...three('OpaquePointer | null'), none],
  [of('Variant', int, text), ...three('number | bigint | string'), 'x'],
  [of('std::variant', text, of('Optional', text)), ...three('string | null'), 'x'],
  [of('Union', int, float), ...three('number | bigint'), 1.5],
  [
    of('Tuple', int, text),
    'readonly [number | bigint, string]',
    '[number | bigint, string]',
    nativeArray('number | bigint | string'),
    [1, 'a'],
  ],
  [of('std::tuple', text), 'readonly [string]', '[string]', nativeArray('string'), ['a']],
  [of('tuple', text), 'readonly [string]', '[string]', nativeArray('string'), ['a']],
  [{ type: 'Tuple', args: [] }, 'readonly []', '[]', nativeArray('never'), []],
  [of('Expected', text, of('ffi.Error')), 'string | Error', 'string', 'string', 'x'],
  [of('ffi.Array', int), 'readonly (number | bigint)[]', '(number | bigint)[]', nativeArray('number | bigint'), [1, 2]],
  [of('std::vector', text), 'readonly string[]', 'string[]', nativeArray('string'), ['a']],
  [{ type: 'std::array', args: [text, 2] }, 'readonly string[]', 'string[]', nativeArray('string'), ['a', 'b']],
  [
    of('ffi.List', text),
    `readonly string[] | ${nativeArray('string')}`,
    nativeArray('string'),
    nativeArray('string'),
    undefined,
  ],
  [
    of('ffi.Map', text, int),
    'ReadonlyMap<string, number | bigint>',
    'Map<string, number | bigint>',
    'NativeMap<string, number | bigint>',
    new Map([['a', 1]]),
  ],
  [
    of('std::map', text, text),
    'ReadonlyMap<string, string>',
    'Map<string, string>',
    'NativeMap<string, string>',
    new Map([['a', 'b']]),
  ],
  [
    of('std::unordered_map', text, text),
    'ReadonlyMap<string, string>',
    'Map<string, string>',
    'NativeMap<string, string>',
    new Map([['a', 'b']]),
  ],
  [
    of('ffi.Dict', text, int),
    'ReadonlyMap<string, number | bigint> | NativeMap<string, number | bigint>',
    'NativeMap<string, number | bigint>',
    'NativeMap<string, number | bigint>',
    undefined,
  ],
  [of('ffi.Function'), 'PackedFunc | PackedCallback', 'PackedFunc', 'PackedFunc', undefined],
  [
    of('ffi.Function', of('None'), of('ffi.Array', text)),
    `PackedFunc | ((a0: ${nativeArray('string')}) => void)`,
    'PackedFunc',
    'PackedFunc',
    undefined,
  ],
  [
    { type: 'std::function', args: [text, [int, text]] },
    'PackedFunc | ((a0: number | bigint, a1: string) => string)',
    'PackedFunc',
    'PackedFunc',
    undefined,
  ],
  [of('ObjectRValueRef', of('x.Y')), 'RValue | Y', 'Y', 'Y', undefined],
  // Parts without a schema are of any type.
  [of('ffi.Array'), 'readonly Argument[]', 'Value[]', nativeArray('Value'), ['a']],
  [
    of('ffi.Map'),
    'ReadonlyMap<Argument, Argument>',
    'Map<Value, Value>',
    'NativeMap<Value, Value>',
    new Map([['a', 'b']]),
  ],
  [of('Tuple'), 'readonly Argument[]', 'Value[]', nativeArray('Value'), ['a']],
  // Types within types.
  [
    of('ffi.Array', of('ffi.Array', text)),
    'readonly (readonly string[])[]',
    'string[][]',
    nativeArray(nativeArray('string')),
    [['a']],
  ],
  [
    of('ffi.List', of('ffi.Array', text)),
    `readonly (readonly string[])[] | ${nativeArray(nativeArray('string'))}`,
    nativeArray(nativeArray('string')),
    nativeArray(nativeArray('string')),
    undefined,
  ],
  [
    of('Optional', of('ffi.Function', text)),
    'PackedFunc | (() => string) | null',
    'PackedFunc | null',
    'PackedFunc | null',
    none,
  ],
  [
    of('ffi.Array', of('ffi.Map', text, of('Tuple', text, float))),
    'readonly ReadonlyMap<string, readonly [string, number]>[]',
    'Map<string, [string, number]>[]',
    nativeArray(`NativeMap<string, ${nativeArray('string | number')}>`),
    [new Map([['k', ['a', 1.5]]])],
  ],
]

function three(type: string): [string, string, string] {
  return [type, type, type]
}

function nativeArray(element: string): string {
  return `NativeArray<${element}>`
}

describe('every type of a schema has a TypeScript type', () => {
  it.each(rows)('%j', (schema, argument, result, raw, value) => {
    expect([textOf(schema, 'argument'), textOf(schema, 'result'), textOf(schema, 'raw')]).toEqual([
      argument,
      result,
      raw,
    ])
    if (value !== undefined) expect(passed(schema, value)).toEqual(value)
  })

  it('and typedBy accepts every form of an argument', () => {
    expect(typedBy(echo, metadataOf(of('ffi.Bytes'), of('std::string')))(Buffer.from('abc'))).toEqual(
      new Uint8Array(Buffer.from('abc')),
    )
    expect(passed(of('ffi.List', int), list)).toBeInstanceOf(NativeArray)
    expect(passed(of('ffi.Dict', text, int), dict)).toBeInstanceOf(NativeMap)
    expect(passed(of('ffi.Shape'), shape([2, 3]))).toBeInstanceOf(NativeShape)
    expect(passed(of('ffi.Function', int), () => 1)).toBeInstanceOf(PackedFunc)
    const error = new RangeError('mine')
    expect(passed(of('ffi.Error'), error)).toBe(error)
    const moved = getGlobal('ffi.List')(1)
    expect(passed(of('ObjectRValueRef', of('ffi.List', int)), rvalue(moved as NativeArray))).toBeInstanceOf(NativeArray)
    expect(typedBy(echo, metadataOf(of('None'), of('None')))()).toBe(null)
  })

  it('and typedBy refuses others', () => {
    const wrong: readonly (readonly [unknown, unknown, string])[] = [
      [of('Variant', int, text), true, 'Expected `Variant<int, str>` but got `bool`'],
      [of('Tuple', int, text), [1], 'Expected `Tuple<int, str>` but got `ffi.Array`'],
      [of('Tuple', int, text), ['a', 1], 'Expected `Tuple<int, str>`'],
      [of('ffi.List', int), ['a'], 'Expected `List<int>`'],
      [of('ffi.Shape'), 'a', 'Expected `Shape`'],
      [of('ffi.Error'), 'a', 'Expected `Error`'],
    ]
    for (const [schema, value, message] of wrong) expect(() => passed(schema, value)).toThrow(message)
  })

  it('and an undeclared key is a NativeObject for declarationOf', () => {
    expect(declarationOf('f', metadataOf(of('a.B'), of('Optional', of('a.C'))))).toBe(
      'export function f(a0: NativeObject | null): NativeObject',
    )
  })
})

describe('a result that is declared more exactly', () => {
  const refined = (schema: unknown, actual: unknown): string =>
    schemaText(
      readTypeSchema(JSON.stringify(schema))!,
      'result',
      (key) => key.replace('x.', ''),
      readTypeSchema(JSON.stringify(actual)),
    )

  it('is raw where the schema of the function is of another kind', () => {
    expect(refined(of('x.Y'), of('ffi.Object'))).toBe('Y')
    expect(refined(of('ffi.Array', of('x.Y')), of('ffi.Array', of('ffi.Object')))).toBe('Y[]')
    expect(refined(of('ffi.Array', of('x.Y')), of('ffi.Object'))).toBe('NativeArray<Y>')
    expect(refined(of('ffi.Array', of('ffi.Map', text, of('x.Y'))), of('ffi.Array', of('Any')))).toBe(
      'NativeMap<string, Y>[]',
    )
  })
})

describe('schemas that are not valid', () => {
  it.each([
    '',
    'null',
    '1',
    '[]',
    '{}',
    '{"type":1}',
    '{"type":"ffi.Array","args":[1]}',
    '{"type":"ffi.Array","args":{}}',
    '{"type":"ffi.Function","args":[{"type":"int"},[]]}',
    '{"type":"Optional","args":[null]}',
    '{"type":"a"b"}',
  ])('%s has no types', (schema) => {
    expect(readTypeSchema(schema)).toBe(undefined)
  })

  it('that are nested too deeply have no types, and deep ones are read in linear time', () => {
    const nested = (depth: number, type: string): string =>
      '{"type":"' + `${type}","args":[{"type":"`.repeat(depth) + 'int"}' + ']}'.repeat(depth)
    expect(readTypeSchema(nested(100_000, 'Optional'))).toBe(undefined)
    expect(readTypeSchema(nested(64, 'ffi.List'))).toBe(undefined)
    for (const use of ['argument', 'result', 'raw'] as const) {
      expect(schemaText(readTypeSchema(nested(62, 'ffi.List'))!, use, String).length).toBeLessThan(100_000)
    }
  })

  it('and names of Object.prototype are type keys', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(schemaText(readTypeSchema(JSON.stringify({ type: name }))!, 'result', (key) => key)).toBe(name)
    }
  })
})
