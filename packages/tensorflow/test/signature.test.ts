import { formatSignature } from '@tenon/core'
import { expect, test } from 'vitest'
import { parseDefinition } from '../src/definition.ts'
import { checkOperationText, findDefinition, noDefinition } from '../src/definition-sources.ts'
import { operationSignature, unsupportedReason } from '../src/signature.ts'

const textOf = (inputs: string[], outputs: string[], ...attributes: string[]): string =>
  formatSignature(operationSignature(parseDefinition({ name: 'Op', inputs, outputs, attributes }), 'library'))

const reasonOf = (inputs: string[], outputs: string[], ...attributes: string[]): string | undefined =>
  unsupportedReason(parseDefinition({ name: 'Op', inputs, outputs, attributes }))

test.each<[inputs: string[], outputs: string[], attributes: string[], text: string]>([
  [
    ['text: string'],
    ['decorated: string'],
    ['suffix: string = "!"'],
    '(text: string[...text]) -> (decorated: string[...]); suffix: string = "!"',
  ],
  [['x: T', 'y: T'], ['z: T'], ['T: {half, float}'], '(x: T[...x], y: T[...y]) -> (z: T[...]); where T in f16 | f32'],
  [['x: T'], ['y: int64'], ['T: type'], '(x: T[...x]) -> (y: s64[...])'],
  [
    ['input: T'],
    ['output: type'],
    ['T: {float}', 'type: {float, uint8, qint8}'],
    '(input: T[...input]) -> (output: type[...]); type: dtype; where T in f32',
  ],
  [['inputs: N * string'], ['summary: string'], ['N: int >= 1'], '(inputs: N * string) -> (summary: string[...])'],
  [
    ['x: N * T', 'axis: int32'],
    ['y: T'],
    ['N: int >= 2', 'T: type'],
    '(x: N * T, axis: s32[...axis]) -> (y: T[...]); N: int >= 2',
  ],
  [['x: Ts'], ['y: Ts'], ['Ts: list({int32, half})'], '(x: Ts) -> (y: Ts); Ts: list({int32, half})'],
  [['x: T'], ['y: n * T'], ['n: int >= 1', 'T: type'], '(x: T[...x]) -> (y: n * T); n: s64; where n >= 1'],
  [['x: qint8'], ['y: resource'], [], '(x: qint8) -> (y: resource)'],
  [['x: T'], [], ['T: {string, int32}'], '(x: T[...x]) -> (); T: {string, int32}'],
  [['x: Ref(float)'], [], [], '(x: Ref(float)) -> ()'],
  [
    [],
    [],
    [
      'a: int = 3',
      'b: float = 0.5',
      'c: bool = true',
      "d: {'x', 'y'} = 'y'",
      'e: list(int) = [1, 2]',
      'f: list(float)',
      'g: type = DT_HALF',
    ],
    '() -> (); a: s64 = 3, b: f32 = 0.5, c: pred = true, d: enum("x", "y") = "y", e: s64[] = [1, 2], f: f32[], g: dtype = "float16"',
  ],
  [
    [],
    [],
    [
      'a: list(string) >= 1',
      'b: shape = {}',
      'c: tensor',
      'd: list(bool) = [true]',
      'e: type = DT_STRING',
      'f: string = "\\377"',
      'g: func',
    ],
    '() -> (); a: list(string) >= 1, b: shape = {}, c: tensor, d: list(bool) = [true], e: type = DT_STRING, f: string = "\\377", g: func',
  ],
])('the signature of %j -> %j with %j', (inputs, outputs, attributes, text) => {
  expect(textOf(inputs, outputs, ...attributes)).toBe(text)
})

test('a signature says its convention and source, and is printed in one line', () => {
  const signature = operationSignature(
    parseDefinition({ name: 'Ns>Op', inputs: ['x: string'], outputs: [], attributes: [] }),
    'sidecar',
  )
  expect(signature).toMatchObject({ name: 'Ns>Op', convention: 'tensorflow', source: 'sidecar', isComplete: false })
  expect(signature.operands).toMatchObject([{ name: 'x', stringLayout: 'tf', shape: [{ group: 'x' }] }])
})

test('operations with parts that exist only inside TensorFlow have a reason', () => {
  expect(reasonOf(['x: resource'], [])).toBe('x is a resource, which exists only inside TensorFlow')
  expect(reasonOf([], ['y: N * variant'], 'N: int')).toBe('y is a variant, which exists only inside TensorFlow')
  expect(reasonOf(['x: Ref(float)'], [])).toBe('x is a reference to a variable of TensorFlow')
  expect(reasonOf(['x: float'], [], 'f: func')).toBe('f is a function in a graph of TensorFlow')
  expect(reasonOf(['x: float'], [], 'f: list(func)')).toBe('f is a function in a graph of TensorFlow')
  expect(
    reasonOf(['x: qint8', 's: string', 'l: Ts'], ['y: N * T'], 'Ts: list(type)', 'N: int', 'T: type'),
  ).toBeUndefined()
})

const library = { name: 'Relu', inputs: ['x: T'], outputs: ['y: T'], attributes: ['T: type'] }
const text = { inputs: ['features: T'], outputs: ['activations: T'], attrs: ['T: {float, half}'] }

test('the definition is that of the option, then of the library, then of the sidecar', () => {
  const found = findDefinition('Relu', { option: text, library, sidecar: { inputs: ['z: int32'] } })
  expect([found.source, found.operation!.inputs[0]!.name]).toEqual(['option', 'features'])
  expect(findDefinition('Relu', { library, sidecar: text })).toMatchObject({ source: 'library', unreadable: [] })
  expect(findDefinition('Relu', { sidecar: text })).toMatchObject({ source: 'sidecar', operation: { name: 'Relu' } })
  expect(findDefinition('Relu', {})).toEqual({ operation: undefined, source: 'none', unreadable: [] })
})

test('a definition that cannot be read counts as none, with the reason', () => {
  const damaged = { ...library, attributes: ['T: flaot'] }
  const found = findDefinition('Relu', { library: damaged, sidecar: text })
  expect(found.source).toBe('sidecar')
  expect(found.unreadable).toMatchObject([{ source: 'library' }])
  const none = findDefinition('Relu', { library: damaged })
  expect(none.operation).toBeUndefined()
  expect(noDefinition('Relu', none, './a.so').sentence).toContain(
    'Relu must have a definition, got none from ./a.so: that of the library cannot be read: column 4: "flaot" is not the type of an attribute',
  )
  expect(() => findDefinition('Relu', { option: { attrs: ['T'] }, library })).toThrow('expected ":"')
})

test('the option is checked before it is read', () => {
  expect(checkOperationText({}, 'definition')).toEqual({ inputs: [], outputs: [], attrs: [] })
  expect(checkOperationText(text, 'definition')).toEqual(text)
  expect(() => checkOperationText(5, 'definition')).toThrow('definition must be an object, got 5')
  expect(() => checkOperationText({ attributes: [] }, 'definition')).toThrow('must not have the option "attributes"')
  expect(() => checkOperationText({ inputs: 'x: T' }, 'definition')).toThrow(
    'definition.inputs must be an array of strings, got "x: T"',
  )
  expect(() => checkOperationText({ inputs: [5] }, 'definition')).toThrow(
    'definition.inputs must be an array of strings',
  )
})
