import { expect, test } from 'vitest'
import { SignatureError, type Tensor } from '@tenon/core'
import { parseDefinition } from '../src/definition.ts'
import { typeNamed } from '../src/element-types.ts'
import type { AttributeDefinition, OperandDefinition, OperationDefinition } from '../src/operation.ts'

const named = (names: string): unknown[] => names.split(' ').map((name) => typeNamed(name))

const attributesOf = (...attributes: string[]): readonly AttributeDefinition[] =>
  parseDefinition({ name: 'Op', inputs: [], outputs: [], attributes }).attributes

const operandOf = (text: string, ...attributes: string[]): OperandDefinition =>
  parseDefinition({ name: 'Op', inputs: [text], outputs: [], attributes }).inputs[0]!

function failureOf(read: () => unknown): { column: number; sentence: string } {
  try {
    read()
  } catch (error) {
    if (error instanceof SignatureError) return error
    throw error
  }
  throw new Error('the text was read')
}

test('attributes have their names and kinds, with any spaces', () => {
  const texts = [
    'a:string',
    'B: int',
    'c1 :float',
    'd_d : bool',
    'eF  :  type',
    'g_3\t: shape',
    ' h:tensor',
    'i: func ',
  ]
  const [...found] = attributesOf(...texts)
  expect(found.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    'a string',
    'B int',
    'c1 float',
    'd_d bool',
    'eF type',
    'g_3 shape',
    'h tensor',
    'i func',
  ])
  for (const { isList, allowed, minimum, fallback } of found) {
    expect([isList, allowed, minimum, fallback]).toEqual([false, undefined, undefined, undefined])
  }
})

test('a list has the kind of its elements', () => {
  for (const kind of ['string', 'int', 'float', 'bool', 'type', 'shape', 'tensor', 'func']) {
    expect(attributesOf(`x:\tlist ( ${kind} )`)).toMatchObject([{ kind, isList: true, allowed: undefined }])
  }
})

test.each([
  ['{string,int32}', 'string int32'],
  ['{ float , complex64 }', 'float complex64'],
  ['{float, half,}', 'float half'],
  ['{float32, float64, float16}', 'float double half'],
  ['quantizedtype', 'qint8 quint8 qint16 quint16 qint32'],
  ['realnumbertype', 'float double int32 int64 uint8 int16 int8 uint16 half uint32 uint64 bfloat16'],
  ['{bool, quantizedtype}', 'bool qint8 quint8 qint16 quint16 qint32'],
])('the allowed element types of %s are read', (text, names) => {
  expect(attributesOf(`T: ${text}`)).toMatchObject([{ kind: 'type', isList: false, allowed: named(names) }])
  expect(attributesOf(`T: list(${text}) >= 2`)).toMatchObject([{ isList: true, allowed: named(names), minimum: 2n }])
})

test('the groups have two names', () => {
  expect(attributesOf('a: numbertype')[0]!.allowed).toEqual(attributesOf('a: numerictype')[0]!.allowed)
  expect(attributesOf('a: realnumbertype')[0]!.allowed).toEqual(attributesOf('a: realnumerictype')[0]!.allowed)
  const names = attributesOf('a: numbertype')[0]!.allowed!.map((type) => (type as { name: string }).name)
  expect(names).toContain('complex128')
  expect(names).toContain('qint32')
  expect(names).not.toContain('bool')
  expect(names).not.toContain('string')
})

test.each([
  [`{ "X", "yz" }`, ['X', 'yz']],
  [`{ 'red fish', "blue fish", }`, ['red fish', 'blue fish']],
  [String.raw`{ "single' ", 'double"' }`, ["single' ", 'double"']],
  [String.raw`{ 'escape\'\n', "\x41\101é" }`, ["escape'\n", 'AAé']],
  [String.raw`{ "\xff" }`, [Uint8Array.of(255)]],
])('the allowed strings of %s are read', (text, allowed) => {
  const [attribute] = attributesOf(`a: ${text}`)
  expect(attribute!.kind).toBe('string')
  expect(
    attribute!.allowed!.map((one) => (typeof one === 'string' ? one : Uint8Array.from(one as Uint8Array))),
  ).toEqual(allowed)
})

test.each([
  ['int >= -5', -5n],
  ['int>=007', 7n],
  ['int >= 9223372036854775807', 2n ** 63n - 1n],
  ['int >= -9223372036854775808', -(2n ** 63n)],
  ['list(bool) >= 4', 4n],
  ['list({float, half})  >=  0', 0n],
])('the least value of %s is read', (text, minimum) => {
  expect(attributesOf(`i: ${text}`)).toMatchObject([{ minimum }])
})

test.each<[text: string, value: unknown]>([
  [`string="foo"`, 'foo'],
  [`string = 'foo'`, 'foo'],
  [`string = ""`, ''],
  [`string = "a" 'b'\n"c"`, 'abc'],
  [String.raw`string = "\a\b\t\n\v\f\r\"\'\?\\"`, '\x07\b\t\n\v\f\r"\'?\\'],
  [String.raw`string = "\u00e9\U0001F600\7\x9"`, 'é\u{1f600}\x07\t'],
  [String.raw`string = "\xfe"`, Buffer.from([254])],
  ['string = "#{}[]:;" # a comment', '#{}[]:;'],
  [`{'SAME', 'VALID'} = 'VALID'`, 'VALID'],
  ['int = 0', 0n],
  ['int = -7', -7n],
  ['int = - 7', -7n],
  ['int = 0x1F', 31n],
  ['int = -0X1f', -31n],
  ['int = 017', 15n],
  ['int = 9223372036854775807', 2n ** 63n - 1n],
  ['int >= 1 = 2', 2n],
  ['float = 1.25', 1.25],
  ['float = 1', 1],
  ['float = -1.', -1],
  ['float = .5', 0.5],
  ['float = 1e-4', 1e-4],
  ['float = 2.5E+2f', 250],
  ['float = 3F', 3],
  ['float = inf', Infinity],
  ['float = -Infinity', -Infinity],
  ['float = nan', Number.NaN],
  ['float = -nan', Number.NaN],
  ['float = 1e39', Infinity],
  ['bool = true', true],
  ['bool = True', true],
  ['bool = t', true],
  ['bool = 1', true],
  ['bool = false', false],
  ['bool = False', false],
  ['bool = f', false],
  ['bool = 0', false],
  ['type = DT_FLOAT', typeNamed('float')],
  ['type = DT_HALF', typeNamed('half')],
  ['type = DT_QINT8', typeNamed('qint8')],
  ['type = 7', typeNamed('string')],
  ['{int32, int64} = DT_INT64', typeNamed('int64')],
  ['shape = {}', []],
  ['shape = { dim { size: 3 } dim { size: 4 } }', [3, 4]],
  ['shape = < dim: < size: -1 > , dim < size: 4; name: "rows" > >', [-1, 4]],
  ['shape = { dim: [{ size: 2 }, {}] }', [2, 0]],
  ['shape = { unknown_rank: true }', null],
  ['shape = { unknown_rank: false dim { size: 1 } }', [1]],
  ['func = { name: "f" attr { key: "T" value { type: DT_INT32 } } }', null],
  ['list(string)=["foo", "bar"]', ['foo', 'bar']],
  ['list(string) = ["a" "b"]', ['ab']],
  ['list(bool)=[true, false, t]', [true, false, true]],
  ['list(int)=[0, -1, 2, 0x4, 8]', [0n, -1n, 2n, 4n, 8n]],
  ['list(int)=[  ]', []],
  ['list(float) = [1, 2.5]', [1, 2.5]],
  ['list(type) = [DT_INT32, DT_STRING]', [typeNamed('int32'), typeNamed('string')]],
  ['list({int32, bool}) >= 1 = [DT_BOOL]', [typeNamed('bool')]],
  ['list(shape) = [{ dim { size: 1 } }, { unknown_rank: true }, <>]', [[1], null, []]],
])('the default of %s is read', (text, value) => {
  const { fallback } = attributesOf(`a: ${text}`)[0]!
  expect(fallback).toEqual(value)
})

test.each<[text: string, dtype: string, shape: number[], values: unknown[]]>([
  ['{ dtype: DT_INT32 int_val: 5 }', 'int32', [], [5]],
  ['{ dtype: DT_INT32 tensor_shape { dim { size: 3 } } int_val: [5, -6] }', 'int32', [3], [5, -6, -6]],
  ['{ dtype: DT_UINT8 tensor_shape { dim { size: 2 } } }', 'uint8', [2], [0, 0]],
  ['{ dtype: DT_FLOAT float_val: 1.5 }', 'float32', [], [1.5]],
  ['{ dtype: DT_DOUBLE double_val: -inf }', 'float64', [], [-Infinity]],
  ['{ dtype: DT_HALF half_val: 15360 }', 'float16', [], [1]],
  ['{ dtype: DT_BFLOAT16 tensor_shape { dim { size: 2 } } half_val: 16256 }', 'bfloat16', [2], [1, 1]],
  ['{ dtype: DT_INT64 int64_val: -9223372036854775808 }', 'int64', [], [-(2n ** 63n)]],
  ['{ dtype: DT_UINT64 uint64_val: 18446744073709551615 }', 'uint64', [], [2n ** 64n - 1n]],
  ['{ dtype: DT_UINT32 uint32_val: 4294967295 }', 'uint32', [], [2 ** 32 - 1]],
  ['{ dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true bool_val: false }', 'bool', [2], [true, false]],
  ['{ dtype: DT_COMPLEX64 scomplex_val: 1 scomplex_val: -2 }', 'complex64', [], [[1, -2]]],
  [
    String.raw`{ dtype: DT_INT16 tensor_shape { dim { size: 2 } } tensor_content: "\001\000\377\377" }`,
    'int16',
    [2],
    [1, -1],
  ],
])('the default tensor %s is read', (text, dtype, shape, values) => {
  const { fallback } = attributesOf(`a: tensor = ${text}`)[0]!
  const tensor = fallback as Tensor
  expect([tensor.dtype, tensor.shape]).toEqual([dtype, shape])
  expect(tensor.toArray()).toEqual(values)
})

test('operands and results are element types, attributes, lists and references', () => {
  expect(operandOf('a: int32')).toEqual({
    name: 'a',
    notation: 'int32',
    isRef: false,
    countAttribute: undefined,
    type: typeNamed('int32'),
    typeAttribute: undefined,
    listAttribute: undefined,
  })
  expect(operandOf('c: float  ').type).toBe(typeNamed('float'))
  expect(operandOf('a_1: T', 'T: type')).toMatchObject({ type: undefined, typeAttribute: 'T', notation: 'T' })
  expect(operandOf('a: n * int32', 'n: int')).toMatchObject({
    type: typeNamed('int32'),
    countAttribute: 'n',
    notation: 'n * int32',
  })
  expect(operandOf('a: n*foo', 'n: int', 'foo: type')).toMatchObject({ countAttribute: 'n', typeAttribute: 'foo' })
  expect(operandOf('a: Ts', 'Ts: list(type)')).toMatchObject({
    listAttribute: 'Ts',
    typeAttribute: undefined,
    type: undefined,
  })
  expect(operandOf('d: Ref  (  bool ) ')).toMatchObject({ isRef: true, type: typeNamed('bool') })
  expect(operandOf('d: Ref(N * T)', 'N: int', 'T: type')).toMatchObject({
    isRef: true,
    countAttribute: 'N',
    typeAttribute: 'T',
  })
})

test('a list of tensors has at least one, unless its attribute says otherwise', () => {
  const least = (inputs: string[], outputs: string[], ...attributes: string[]): (bigint | undefined)[] =>
    parseDefinition({ name: 'Op', inputs, outputs, attributes }).attributes.map(({ minimum }) => minimum)
  expect(least(['a: N * int32'], [], 'N: int')).toEqual([1n])
  expect(least(['a: N * int32'], [], 'N: int >= 0')).toEqual([0n])
  expect(least(['a: N * int32'], [], 'N: int >= 3')).toEqual([3n])
  expect(least([], ['a: Ts'], 'Ts: list(type)', 'k: int')).toEqual([1n, undefined])
  expect(least([], ['a: Ts'], 'Ts: list({int32, half}) >= 0')).toEqual([0n])
})

test('every element type of the C API has its number and memory', () => {
  const codes = Object.fromEntries(
    `float 1 double 2 int32 3 uint8 4 int16 5 int8 6 string 7 complex64 8 int64 9 bool 10 qint8 11 quint8 12 qint32 13 bfloat16 14
     qint16 15 quint16 16 uint16 17 complex128 18 half 19 resource 20 variant 21 uint32 22 uint64 23 float8_e5m2 24 float8_e4m3fn 25
     float8_e4m3fnuz 26 float8_e4m3b11fnuz 27 float8_e5m2fnuz 28 int4 29 uint4 30 int2 31 uint2 32 float4_e2m1fn 33`
      .matchAll(/(\w+) (\d+)/g)
      .map(([, name, code]) => [name!, Number(code)]),
  )
  expect(Object.keys(codes)).toHaveLength(33)
  for (const [name, code] of Object.entries(codes)) expect(operandOf(`a: ${name}`).type).toMatchObject({ name, code })
  expect(operandOf('a: half').type!.dtype).toBe('float16')
  expect(operandOf('a: qint16').type!.dtype).toBe('int16')
  expect(operandOf('a: string').type!.dtype).toBeUndefined()
})

test.each<[text: string, column: number, sentence: string]>([
  ['_:string', 1, 'the name of an attribute'],
  ['9:string', 1, 'the name of an attribute'],
  [':string', 1, 'the name of an attribute'],
  ['string', 7, 'expected ":", got the end of the text'],
  ['', 1, 'got the end of the text'],
  ['float: int', 1, 'must not have the name of the element type float'],
  ['a:invalid', 3, '"invalid" is not the type of an attribute'],
  ['a:stringy', 3, '"stringy" is not the type'],
  ['b:', 3, 'expected the type of an attribute, got the end of the text'],
  ['b: list', 8, 'expected "("'],
  ['b: list(int', 12, 'expected ")", got the end of the text'],
  ['b: list(list(int))', 9, '"list" is not the type'],
  ['a:{}', 4, 'expected an element type, got "}"'],
  ['a:{,}', 4, 'expected an element type, got ","'],
  ['a:{invalid}', 4, '"invalid" is not an element type'],
  ['a:{float_ref}', 4, '"float_ref" is not an element type'],
  ['a:{"str", float}', 11, 'expected a string, got "float"'],
  ['a:{ float, "str" }', 12, 'expected an element type'],
  ['a:{float,,}', 10, 'expected an element type, got ","'],
  ['a:{float half}', 10, 'expected "," or "}", got "half"'],
  ['i: int >= a', 11, 'expected a whole number, got "a"'],
  ['i: int >= 1.5', 11, 'a whole number of 64 bits, got 1.5'],
  ['i: int >= 9223372036854775808', 11, 'a whole number of 64 bits, got 9223372036854775808'],
  ['i: int >= -9223372036854775809', 11, 'a whole number of 64 bits'],
  ['i: float >= 1', 10, 'expected the end of the text, got ">="'],
  ['i: list(int) >= -1', 1, 'the least length must be at least 0, got -1'],
  ['i: int 5', 8, 'expected the end of the text, got "5"'],
  ['a:int="foo"', 7, 'the value must be a whole number from -2^63 to 2^63 - 1'],
  ['a:int = 1.5', 9, 'a whole number'],
  ['a:int = 9223372036854775808', 9, 'a whole number'],
  ['a:int = 089', 9, 'a whole number'],
  ['a:float = [1.25]', 11, 'expected a value, got "["'],
  ['a:float = 0x10', 11, 'the value must be a number'],
  ['a:float = 1 2', 13, 'expected the end of the text, got "2"'],
  ['a:string = foo', 12, 'a string between quotes'],
  ['a:string = "foo', 12, 'opens a string without an end'],
  [String.raw`a:string = "\q"`, 12, String.raw`the escape sequence "\\q" is unknown`],
  ['a:string = "\\\u{1f600}"', 12, 'is unknown'],
  [String.raw`a:string = "\ud800"`, 12, 'is unknown'],
  [String.raw`a:string = "\U00110000"`, 12, 'is unknown'],
  ['a:bool = yes', 10, 'true or false'],
  ['a:type = float', 10, 'an element type such as DT_FLOAT'],
  ['a:type = DT_FLOAT_REF', 10, 'an element type such as DT_FLOAT'],
  ['a:type = 0', 10, 'an element type such as DT_FLOAT'],
  ['a:shape = 5', 11, 'a shape such as'],
  ['a:shape = "x"', 11, 'a shape such as'],
  ['a:tensor = 5', 12, 'a tensor such as'],
  ['a:tensor = "x"', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_COMPLEX64 scomplex_val: 1 }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_INT32 int_val: x }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_INT32 int_val: "5" }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_INT32 unknown_val: 5 }', 12, 'a tensor such as'],
  ['a:shape = [1, 2]', 11, 'expected a value, got "["'],
  ['a:shape = { dim { size: -2 } }', 11, 'a shape such as'],
  ['a:shape = { dim { size: 1 } unknown_rank: true }', 11, 'a shape such as'],
  ['a:shape = { size: 1 }', 11, 'a shape such as'],
  ['a:shape = { dim { size: 1 }', 28, 'the name of a field or "}", got the end of the text'],
  ['a:shape = { dim 5 }', 17, 'expected ":", got "5"'],
  ['a:tensor = { dtype: DT_INT32 float_val: 1 int_val: 2 }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_STRING string_val: "a" }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_INT32 int_val: [1, 2] }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_UINT8 int_val: 256 }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_INT32 tensor_shape { dim { size: -1 } } }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_INT32 tensor_shape { dim { size: 9000000000000000 } } int_val: 1 }', 12, 'a tensor such as'],
  ['a:tensor = { dtype: DT_INT16 tensor_content: "abc" }', 12, 'a tensor such as'],
  ['a:tensor = { int_val: 1 }', 12, 'a tensor such as'],
  ['a:list(int)=["foo"]', 14, 'a whole number'],
  ['a:list(int)=[7, "foo"]', 17, 'a whole number'],
  ['a:list(float) = [[1.25]]', 18, 'expected a value, got "["'],
  ['a:list(float) = 1.25', 17, 'expected "[", got "1.25"'],
  ['a:list(float) = [', 18, 'expected a value, got the end of the text'],
  ['a:list(float) = ', 17, 'expected "["'],
  ['a:list(int) = [1,]', 18, 'expected a value, got "]"'],
  ['a:list(int) = [1 2]', 18, 'expected "," or "]", got "2"'],
  ['a:int >= 2 = 1', 12, 'the default must be at least 2'],
  ['a:list(int) >= 2 = [1]', 18, 'the default must be an array of at least 2 elements'],
  ["a:{'x', 'y'} = 'z'", 14, 'the default must be one of "x", "y"'],
  ['a:{int32, half} = DT_FLOAT', 17, 'the default must be one of int32, half'],
  ['a:int = 1 ?', 11, '"?" is not part of a definition'],
  ['a:int = \u{1f600}', 9, 'is not part of a definition'],
])('the attribute %s is refused at its place', (text, column, sentence) => {
  const failure = failureOf(() => attributesOf(text))
  expect(failure.sentence).toContain(sentence)
  expect(failure.column).toBe(column)
})

test.each<[text: string, attributes: string[], column: number, sentence: string]>([
  ['A: int32', [], 1, 'a name of lower-case letters'],
  ['_a: int32', [], 1, 'a name of lower-case letters'],
  ['aB: int32', [], 1, 'a name of lower-case letters'],
  ['a int32', [], 3, 'expected ":"'],
  ['a:', [], 3, 'an element type or the name of an attribute'],
  ['a: foo', [], 4, '"foo" is not an element type of TensorFlow'],
  ['a: float_ref', [], 4, '"float_ref" is not an element type of TensorFlow'],
  ['a: n', ['n: int'], 4, 'n must be an attribute of the kind type, got int'],
  ['a: int32 foo', [], 10, 'expected the end of the text, got "foo"'],
  ['a: Ref(int32', [], 13, 'expected ")"'],
  ['a: n * int32', [], 4, 'n must be an attribute of the kind int'],
  ['a: n * int32', ['n: list(int)'], 4, 'n must be an attribute of the kind int'],
  ['a: n * int32', ['n: int >= -1'], 4, 'the least value of n must be at least 0'],
  ['a: n * Ts', ['n: int', 'Ts: list(type)'], 8, 'a number or a list of types, got both'],
  ['a: T', ['T: type', 'a: int'], 1, 'a is the name of two parts'],
])('the operand %s is refused at its place', (text, attributes, column, sentence) => {
  for (const where of ['inputs', 'outputs'] as const) {
    const definition = { name: 'Op', inputs: [], outputs: [], attributes, [where]: [text] }
    const failure = failureOf(() => parseDefinition(definition))
    expect(failure.sentence).toContain(sentence)
    expect(failure.column).toBe(column)
  }
})

test('two parts of one name are refused', () => {
  const read = (inputs: string[], outputs: string[], attributes: string[]): OperationDefinition =>
    parseDefinition({ name: 'Op', inputs, outputs, attributes })
  expect(() => read(['a: int32', 'a: int32'], [], [])).toThrow('a is the name of two parts')
  expect(() => read(['a: int32'], ['a: int32'], [])).toThrow('a is the name of two parts')
  expect(() => read([], [], ['a: int', 'a: int'])).toThrow('a is the name of two parts')
})

test('a default shorter than a list of tensors needs is refused', () => {
  const read = (): unknown =>
    parseDefinition({ name: 'Op', inputs: ['a: Ts'], outputs: [], attributes: ['Ts: list(type) = []'] })
  expect(read).toThrow('the default must be an array of at least 1 elements')
})

test('deep nesting and long texts are refused without a fault', () => {
  const deep = `a: shape = ${'{ dim '.repeat(8000)}`
  expect(failureOf(() => attributesOf(deep)).sentence).toContain('at most 32 levels')
  const list = `a: shape = { dim: [${'{ size: ['.repeat(6000)}`
  expect(failureOf(() => attributesOf(list)).sentence).toContain('at most 32 levels')
  expect(failureOf(() => attributesOf(`a: string = "${'x'.repeat(100_000)}"`)).sentence).toContain(
    'at most 65536 characters',
  )
  expect(failureOf(() => attributesOf(`a: string = "${String.raw`\\`.repeat(30_000)}`)).sentence).toContain(
    'without an end',
  )
})
