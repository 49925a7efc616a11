import { ArgumentError, tensor } from '@tenon/core'
import { expect, test } from 'vitest'
import { resolveAttributes } from '../src/attributes.ts'
import { resultTypes, type OperandTypes } from '../src/bind-operands.ts'
import { parseDefinition } from '../src/definition.ts'
import { typeNamed, type ElementType } from '../src/element-types.ts'
import type { AttributeValue, OperationDefinition } from '../src/operation.ts'

const type = (name: string): ElementType => typeNamed(name)!
const types = (names: string): ElementType[] => names.split(' ').map(type)

const operation = (inputs: string[], attributes: string[], outputs: string[] = []): OperationDefinition =>
  parseDefinition({ name: 'Op', inputs, outputs, attributes })

/** Resolves the attributes of an operation without operands. */
const read = (attribute: string, given?: unknown): AttributeValue | undefined =>
  resolveAttributes(operation([], [attribute]), [], given).get(attribute.split(':')[0]!)

const bind = (
  inputs: string[],
  attributes: string[],
  operands: OperandTypes[],
  given?: unknown,
): Record<string, unknown> => Object.fromEntries(resolveAttributes(operation(inputs, attributes), operands, given))

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test.each<[attribute: string, given: unknown, value: unknown]>([
  ['a: string', 'é', bytes('é')],
  ['a: string', Uint8Array.of(0, 255), Uint8Array.of(0, 255)],
  ["a: {'x', 'é'}", 'é', bytes('é')],
  ['a: int', 7, 7n],
  ['a: int', -(2n ** 63n), -(2n ** 63n)],
  ['a: int >= -1', -1, -1n],
  ['a: float', 0.5, 0.5],
  ['a: float', -Infinity, -Infinity],
  ['a: bool', false, false],
  ['a: type', 'float', type('float')],
  ['a: type', 'f32', type('float')],
  ['a: type', 'float16', type('half')],
  ['a: type', 'pred', type('bool')],
  ['a: type', 'string', type('string')],
  ['a: type', 'qint8', type('qint8')],
  ['a: shape', [2, -1], [2, -1]],
  ['a: shape', [], []],
  ['a: shape', undefined, null],
  ['a: shape = {}', undefined, null],
  ['a: list(string)', ['a', bytes('b')], [bytes('a'), bytes('b')]],
  ['a: list(int) >= 2', [1, 2n], [1n, 2n]],
  ['a: list(int)', BigInt64Array.of(1n, -2n), [1n, -2n]],
  ['a: list(float)', [], []],
  ['a: list(float)', Float32Array.of(0.5), [0.5]],
  ['a: list(bool)', [true, false], [true, false]],
  ['a: list({int32, half})', ['s32', 'half'], [type('int32'), type('half')]],
  ['a: list(shape)', [[1], undefined], [[1], null]],
])('%s accepts %o', (attribute, given, value) => {
  expect(read(attribute, { a: given })).toEqual(value)
})

test('tensors are attributes as they are', () => {
  const [x, y] = [tensor([1, 2]), tensor([3n])]
  expect(read('a: tensor', { a: x })).toBe(x)
  expect(read('a: list(tensor)', { a: [x, y] })).toEqual([x, y])
})

test('bytes are copied when they are read', () => {
  const given = Uint8Array.of(1, 2)
  const value = read('a: string', { a: given })
  given.fill(9)
  expect(value).toEqual(Uint8Array.of(1, 2))
})

test('a default is used for an attribute that is missing or undefined', () => {
  expect(read('a: string = "x"')).toEqual(bytes('x'))
  expect(read('a: string = "x"', { a: undefined })).toEqual(bytes('x'))
  expect(read('a: list(int) = [3]', {})).toEqual([3n])
  expect(read('a: type = DT_QINT8')).toBe(type('qint8'))
  expect(read('a: shape = { unknown_rank: true }')).toBeNull()
})

test.each<[attribute: string, given: unknown, message: string]>([
  ['a: string', 5, 'a of Op must be bytes, got 5'],
  ['a: string', '\ud800', 'a of Op must be bytes, got a string with a lone surrogate'],
  ["a: {'x', 'y'}", 'z', 'a of Op must be one of "x", "y", got "z"'],
  ['a: int', 1.5, 'a of Op must be s64, got 1.5'],
  ['a: int', 2n ** 63n, 'a of Op must be s64, got 9223372036854775808n'],
  ['a: int >= 2', 1, 'a of Op must be at least 2, got 1n'],
  ['a: float', '1', 'a of Op must be f32, got "1"'],
  ['a: float', 1e39, 'a of Op must be f32, got 1e+39'],
  ['a: bool', 1, 'a of Op must be pred, got 1'],
  ['a: type', 'flaot', 'a of Op must be the name of an element type of TensorFlow, got "flaot"'],
  ['a: type', 'uint1', 'a of Op must be the name of an element type of TensorFlow, got "uint1"'],
  ['a: type', 1, 'a of Op must be the name of an element type of TensorFlow, got 1'],
  ['a: {float, half}', 'double', 'a of Op must be one of float, half, got double'],
  ['a: shape', [-2], 'a of Op must be an array of sizes'],
  ['a: shape', [1.5], 'a of Op must be an array of sizes'],
  ['a: shape', 3, 'a of Op must be an array of sizes'],
  ['a: tensor', [1], 'a of Op must be a tensor, got an array of length 1'],
  ['a: list(int)', 5, 'a of Op must be an array, each element of which is a whole number, got 5'],
  ['a: list(int)', [1, 'x'], 'a[1] of Op must be s64, got "x"'],
  ['a: list(int)', Float32Array.of(1), 'a of Op must be s64[], got Float32Array(1)'],
  ['a: list(string) >= 2', ['x'], 'a of Op must be an array of at least 2 elements, got an array of length 1'],
  ['a: list({float, half})', ['half', 'int32'], 'a of Op must be an array of float, half'],
  ['a: list(type)', ['half', 'x'], 'a[1] of Op must be the name of an element type'],
  ['a: list(bool)', [,], 'a[0] of Op must be pred, got undefined'], // oxlint-disable-line no-sparse-arrays
])('%s refuses %o', (attribute, given, message) => {
  expect(() => read(attribute, { a: given })).toThrow(message)
  expect(() => read(attribute, { a: given })).toThrow(ArgumentError)
})

test('an attribute without a value names itself, and an unknown one the nearest', () => {
  expect(() => read('keep_dims: bool')).toThrow('keep_dims of Op must be true or false, got no value')
  const misspelt = (): unknown => read('keep_dims: bool = true', { keepdims: true })
  expect(misspelt).toThrow('Op does not have an attribute named keepdims')
  expect(misspelt).toThrow(expect.objectContaining({ hint: 'Did you mean keep_dims?' }))
  expect(() => read('a: int = 1', 5)).toThrow('the attributes of Op must be an object, got 5')
  expect(read('a: int = 1', { b: undefined })).toBe(1n)
})

test('each given value is read once', () => {
  let reads = 0
  const given = {
    get a() {
      reads += 1
      return reads
    },
  }
  expect(read('a: int', given)).toBe(1n)
  expect(reads).toBe(1)
})

test('operands determine the attributes of their types and counts', () => {
  expect(bind(['x: T', 'y: T'], ['T: type'], types('half half'))).toEqual({ T: type('half') })
  expect(bind(['x: N * T'], ['N: int', 'T: type'], [types('int32 int32')])).toEqual({ N: 2n, T: type('int32') })
  expect(bind(['x: N * string'], ['N: int >= 0'], [[]])).toEqual({ N: 0n })
  expect(bind(['x: Ts'], ['Ts: list(type)'], [types('string bool')])).toEqual({ Ts: types('string bool') })
  expect(
    bind(['x: N * T', 'y: N * U'], ['N: int', 'T: type', 'U: type'], [types('int8'), types('bool')]),
  ).toMatchObject({ N: 1n })
})

test('a tensor of integers is one of a quantised type where only that is allowed, or the caller says so', () => {
  expect(bind(['x: T'], ['T: {int8, qint8}'], types('int8'))).toEqual({ T: type('int8') })
  expect(bind(['x: T'], ['T: {half, qint8}'], types('int8'))).toEqual({ T: type('qint8') })
  expect(bind(['x: T'], ['T: {int8, qint8}'], types('int8'), { T: 'qint8' })).toEqual({ T: type('qint8') })
  expect(bind(['x: qint8'], [], types('int8'))).toEqual({})
  expect(bind(['x: Ts'], ['Ts: list(quantizedtype)'], [types('int8 int32')])).toEqual({ Ts: types('qint8 qint32') })
  expect(() => bind(['x: qint8'], [], types('uint8'))).toThrow('x of Op must be a tensor of qint8, got uint8')
})

test.each<[inputs: string[], attributes: string[], operands: OperandTypes[], given: unknown, message: string]>([
  [['x: float'], [], types('double'), {}, 'x of Op must be a tensor of float32, got float64'],
  [['x: string'], [], types('uint8'), {}, 'x of Op must be a tensor of string, got uint8'],
  [['x: T'], ['T: {half, float}'], types('int32'), {}, 'x of Op must be a tensor of float16 or float32, got int32'],
  [['x: T', 'y: T'], ['T: type'], types('half int32'), {}, 'y of Op must be a tensor of float16 like x, got int32'],
  [
    ['x: T'],
    ['T: type'],
    types('half'),
    { T: 'int8' },
    'x of Op must be a tensor of int8, which is the attribute T, got float16',
  ],
  [
    ['x: T', 'y: T'],
    ['T: type'],
    types('half int8'),
    { T: 'half' },
    'y of Op must be a tensor of float16, which is the attribute T, got int8',
  ],
  [
    ['x: N * T'],
    ['N: int', 'T: type'],
    [types('half int8')],
    {},
    'x[1] of Op must be a tensor of float16 like x[0], got int8',
  ],
  [['x: N * T'], ['N: int', 'T: type'], [[]], {}, 'x of Op must be an array of at least 1 tensors, got 0'],
  [
    ['x: N * T'],
    ['N: int >= 3', 'T: type'],
    [types('half')],
    {},
    'x of Op must be an array of at least 3 tensors, got 1',
  ],
  [
    ['x: N * T', 'y: N * T'],
    ['N: int', 'T: type'],
    [types('half'), types('half half')],
    {},
    'y of Op must be an array of 1 tensors like x, got 2',
  ],
  [
    ['x: N * string'],
    ['N: int'],
    [types('string')],
    { N: 2 },
    'x of Op must be an array of 2 tensors, which is the attribute N, got 1',
  ],
  [
    ['x: Ts', 'y: Ts'],
    ['Ts: list(type)'],
    [types('half'), types('int8')],
    {},
    'y[0] of Op must be a tensor of float16 like x, got int8',
  ],
  [
    ['x: Ts', 'y: Ts'],
    ['Ts: list(type)'],
    [types('half'), types('half half')],
    {},
    'y of Op must be an array of 1 tensors like x, got 2',
  ],
  [
    ['x: Ts'],
    ['Ts: list({int8, bool})'],
    [types('bool half')],
    {},
    'x[1] of Op must be a tensor of int8 or bool, got float16',
  ],
])('the operands of %j with %j are refused', (inputs, attributes, operands, given, message) => {
  expect(() => bind(inputs, attributes, operands, given)).toThrow(message)
  expect(() => bind(inputs, attributes, operands, given)).toThrow(ArgumentError)
})

test('the element type of an empty list comes from the caller or the default', () => {
  const inputs = ['x: N * T']
  expect(bind(inputs, ['N: int >= 0', 'T: type'], [[]], { T: 'half' })).toEqual({ N: 0n, T: type('half') })
  expect(bind(inputs, ['N: int >= 0', 'T: type = DT_INT8'], [[]])).toEqual({ N: 0n, T: type('int8') })
  expect(() => bind(inputs, ['N: int >= 0', 'T: type'], [[]])).toThrow('T of Op must be the name of an element type')
})

test('results have the element types of the attributes', () => {
  const attributes = ['T: type', 'type: type', 'N: int', 'k: int >= 0', 'Ts: list(type)']
  const outputs = ['a: T', 'b: type', 'c: N * T', 'd: k * string', 'e: Ts', 'f: qint8']
  const op = operation(['x: N * T'], attributes, outputs)
  const values = resolveAttributes(op, [types('half half')], { type: 'uint8', k: 0, Ts: ['bool', 'string'] })
  expect(resultTypes(op, values)).toEqual([
    type('half'),
    type('uint8'),
    types('half half'),
    [],
    types('bool string'),
    type('qint8'),
  ])
})
