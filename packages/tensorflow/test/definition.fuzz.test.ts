import { inspect } from 'node:util'
import fc from 'fast-check'
import { ArgumentError, formatSignature, parseSignature, SignatureError } from '@tenon/core'
import { expect, test } from 'vitest'
import { resolveAttributes } from '../src/attributes.ts'
import { resultTypes, type OperandTypes } from '../src/bind-operands.ts'
import { chooseKernel } from '../src/choose-kernel.ts'
import { parseDefinition } from '../src/definition.ts'
import { ELEMENT_TYPES, typeNamed, type ElementType } from '../src/element-types.ts'
import type { AttributeValue, OperationDefinition } from '../src/operation.ts'
import type { RegisteredKernel } from '../src/registration.ts'
import { operationSignature, unsupportedReason } from '../src/signature.ts'

const TESTS = 5
const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget: fc.Parameters<unknown> =
  seconds > 0
    ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: (seconds * 1000) / TESTS }
    : { numRuns: 300 }

const ATTRIBUTES = [
  'T: {float, half, int32}',
  'U: type',
  'V: realnumbertype = DT_FLOAT',
  'Ts: list(type)',
  'Us: list({int32, string}) >= 0',
  'N: int >= 2',
  'M: int',
  'k: int >= -3 = 0x10',
  's: string = "a\\n\\x41"',
  "mode: {'SAME', 'VALID'} = 'SAME'",
  'names: list(string) >= 1 = ["a", "b"]',
  'f: float = -1.5e-3',
  'b: bool = true',
  'ints: list(int) = [1, -2]',
  'shape: shape = { dim { size: 3 } dim { size: -1 } }',
  'shapes: list(shape) = [{ unknown_rank: true }, {}]',
  'x: tensor = { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: [1, 2] }',
  'g: func',
]
const OPERANDS = ['T', 'U', 'float', 'string', 'qint8', 'N * T', 'M * string', 'Ts', 'Us', 'Ref(U)', 'resource', 'V']

const vocabulary = [
  ...'(){}<>[],:;=*-#"\'\\ \n.0',
  ...[
    '>=',
    'list(',
    'Ref(',
    'type',
    'int',
    'shape',
    'tensor',
    'DT_INT32',
    'dim',
    'size',
    'unknown_rank',
    'dtype',
    'true',
  ],
  ...[
    '9223372036854775808',
    '1e999',
    '0x',
    '\\x',
    '\\777',
    '\\ud800',
    'T',
    'N',
    'é',
    '\0',
    '\u{1f600}',
    '\ud800',
    '__proto__',
  ],
]
const chunk = fc.oneof(fc.constantFrom(...vocabulary), fc.string({ unit: 'binary', maxLength: 3 }))
const mutated = (texts: readonly string[]): fc.Arbitrary<string> =>
  fc
    .record({
      text: fc.constantFrom(...texts),
      edits: fc.array(fc.record({ at: fc.nat(120), removed: fc.nat(6), added: chunk }), { maxLength: 5 }),
    })
    .map(({ text, edits }) =>
      edits.reduce((whole, { at, removed, added }) => {
        const start = at % (whole.length + 1)
        return whole.slice(0, start) + added + whole.slice(start + removed)
      }, text),
    )
const anyText = (texts: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    mutated(texts),
    fc.array(chunk, { maxLength: 30 }).map((parts) => parts.join(' ')),
    fc.string(),
  )

/** A definition as text, in which a tensor is its elements. */
const printed = (operation: OperationDefinition): string => inspect(operation, { depth: 9, maxArrayLength: null })

test('a random text is a definition or a SignatureError with a column', () => {
  const operands = OPERANDS.map((type, i) => `x${i}: ${type}`)
  fc.assert(
    fc.property(anyText(ATTRIBUTES), anyText(operands), (attribute, operand) => {
      const texts = [...ATTRIBUTES.filter((text) => text.split(':')[0] !== attribute.split(':')[0]), attribute]
      try {
        const operation = parseDefinition({
          name: 'Op',
          inputs: [operand],
          outputs: ['result: float'],
          attributes: texts,
        })
        formatSignature(operationSignature(operation, 'library'))
        unsupportedReason(operation)
        // The texts that were kept define the same operation.
        const again = parseDefinition({
          name: 'Op',
          inputs: operation.inputs.map(({ name, notation }) => `${name}: ${notation}`),
          outputs: ['result:float'],
          attributes: operation.attributes.map(({ name, notation }) => `${name} : ${notation} `),
        })
        expect(printed(again)).toBe(printed({ ...operation, outputs: again.outputs }))
      } catch (error) {
        if (!(error instanceof SignatureError)) throw error
        expect(error.column).toBeGreaterThanOrEqual(1)
        expect(error.column).toBeLessThanOrEqual(Math.max(attribute.length, operand.length) + 1)
        expect(error.sentence.startsWith(`column ${error.column}: `)).toBe(true)
      }
    }),
    budget,
  )
})

const KIND = fc.constantFrom('int', 'float', 'bool', 'string', 'type', 'shape')

/** A value, and its text as a default. */
const valueOf = (kind: string): fc.Arbitrary<{ value: unknown; text: string }> => {
  switch (kind) {
    case 'int':
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ({ value, text: String(value) }))
    case 'float':
      return fc
        .float({ noNaN: true })
        .map((value) => ({ value, text: Number.isFinite(value) ? numberText(value) : `${value < 0 ? '-' : ''}inf` }))
    case 'bool':
      return fc.boolean().map((value) => ({ value, text: String(value) }))
    case 'string':
      return fc.string({ unit: 'binary' }).map((raw) => {
        const value = raw.toWellFormed()
        const text = [...Buffer.from(value)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
        return { value, text: `"${text}"` }
      })
    case 'type':
      return fc.constantFrom(...ELEMENT_TYPES).map((value) => ({ value, text: `DT_${value.name.toUpperCase()}` }))
    default:
      return fc.array(fc.integer({ min: -1, max: 99 }), { maxLength: 4 }).map((value) => ({
        value,
        text: `{ ${value.map((size) => `dim { size: ${size} }`).join(' ')} }`,
      }))
  }
}

const numberText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))

test('a random default is read as it was written', () => {
  const one = KIND.chain((kind) => fc.tuple(fc.constant(kind), valueOf(kind)))
  const many = KIND.chain((kind) => fc.tuple(fc.constant(kind), fc.array(valueOf(kind), { maxLength: 5 })))
  const read = (text: string): unknown =>
    parseDefinition({ name: 'Op', inputs: [], outputs: [], attributes: [text] }).attributes[0]!.fallback
  fc.assert(
    fc.property(one, many, ([kind, { value, text }], [listKind, list]) => {
      expect(read(`a: ${kind} = ${text}`)).toEqual(value)
      expect(read(`a: list(${listKind}) = [${list.map((each) => each.text).join(', ')}]`)).toEqual(
        list.map((each) => each.value),
      )
    }),
    budget,
  )
})

const operationOf = (inputs: readonly string[], outputs: readonly string[]): OperationDefinition =>
  parseDefinition({
    name: 'Op',
    inputs: inputs.map((type, i) => `x${i}: ${type}`),
    outputs: outputs.map((type, i) => `y${i}: ${type}`),
    attributes: ATTRIBUTES.filter((text) => text !== 'g: func'),
  })

const plain = ELEMENT_TYPES.filter(
  ({ name, dtype }) => (dtype !== undefined && typeNamed(dtype)?.name === name) || name === 'string',
)
const types = fc.constantFrom(...plain)

test('calls with random tensors and attributes resolve or throw ArgumentError, and their results have the declared types', () => {
  const value = fc.oneof(
    fc.anything({ withBigInt: true, withTypedArray: true, withNullPrototype: true, withSparseArray: true }),
    fc.nat(9),
    fc.constantFrom('float', 'qint8', 's32', 'SAME', [1n, 2], ['int32', 'string'], [-1, 2], null),
  )
  const names = [...ATTRIBUTES.map((text) => text.split(':')[0]!), 'unknown', '__proto__']
  const given = fc.oneof(value, fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 }))
  const call = fc.array(fc.constantFrom(...OPERANDS), { maxLength: 4 }).chain((inputs) =>
    fc.record({
      inputs: fc.constant(inputs),
      outputs: fc.array(fc.constantFrom(...OPERANDS), { maxLength: 3 }),
      operands: fc.tuple(...inputs.map((type) => (/\*|s$/.test(type) ? fc.array(types, { maxLength: 3 }) : types))),
    }),
  )
  fc.assert(
    fc.property(call, given, ({ inputs, outputs, operands }, attributes) => {
      const operation = operationOf(inputs, outputs)
      let values: ReadonlyMap<string, AttributeValue>
      try {
        values = resolveAttributes(operation, operands as OperandTypes[], attributes)
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error
        expect(error.details).toHaveProperty('path')
        expect(error.details).toHaveProperty('expected')
        return
      }
      expect([...values.keys()].toSorted()).toEqual(operation.attributes.map(({ name }) => name).toSorted())
      for (const [i, result] of resultTypes(operation, values).entries()) {
        const { type, countAttribute, listAttribute } = operation.outputs[i]!
        const all = [result].flat() as ElementType[]
        expect(Array.isArray(result)).toBe(countAttribute !== undefined || listAttribute !== undefined)
        if (countAttribute !== undefined) expect(all).toHaveLength(Number(values.get(countAttribute)))
        for (const one of all) expect(ELEMENT_TYPES).toContain(one)
        if (type !== undefined) for (const one of all) expect(one).toBe(type)
      }
    }),
    budget,
  )
})

test('the chosen kernel is the one that a model with a sort chooses', () => {
  const kernel = fc.record({
    operation: fc.constant('Op'),
    device: fc.constantFrom('CPU', 'DEFAULT', 'GPU'),
    label: fc.constantFrom('', '', 'fast'),
    priority: fc.integer({ min: -1, max: 2 }),
    constraints: fc.array(
      fc.record({ attribute: fc.constantFrom('T', 'Ts', 'missing'), types: fc.subarray([1, 3, 7, 19]) }),
      { maxLength: 2 },
    ),
    index: fc.nat(99),
  })
  const T = fc.constantFrom(...['float', 'int32', 'string'].map((name) => typeNamed(name)!))
  fc.assert(
    fc.property(
      fc.array(kernel, { maxLength: 8 }),
      T,
      fc.array(T, { maxLength: 3 }),
      fc.constantFrom('CPU', 'GPU'),
      fc.constantFrom('', 'fast'),
      (kernels: RegisteredKernel[], one, list, device, label) => {
        const attributes = new Map<string, AttributeValue>([
          ['T', one],
          ['Ts', list],
        ])
        const values: Readonly<Record<string, number[]>> = { T: [one.code], Ts: list.map(({ code }) => code) }
        const sorted = kernels
          .filter((each) => each.label === label && (each.device === device || each.device === 'DEFAULT'))
          .filter(({ constraints }) =>
            constraints.every(
              ({ attribute, types: allowed }) => values[attribute]?.every((code) => allowed.includes(code)) ?? false,
            ),
          )
          .toSorted((a, b) => Number(b.device === device) - Number(a.device === device) || b.priority - a.priority)
        const isClear =
          sorted.length === 1 ||
          (sorted.length > 1 &&
            (sorted[0]!.priority !== sorted[1]!.priority || sorted[0]!.device !== sorted[1]!.device))
        const choose = (): RegisteredKernel => chooseKernel('Op', kernels, attributes, { device, label })
        if (isClear) expect(choose()).toBe(sorted[0])
        else expect(choose).toThrow(ArgumentError)
      },
    ),
    budget,
  )
})

test('a signature without parts in another notation is in the language', () => {
  const inputs = fc.array(fc.constantFrom('T', 'U', 'float', 'int64'), { maxLength: 3 })
  const outputs = fc.array(fc.constantFrom('T', 'V', 'float', 'bool'), { maxLength: 2 })
  fc.assert(
    fc.property(inputs, outputs, fc.subarray(ATTRIBUTES.slice(7, 14)), (operands, results, others) => {
      const operation = parseDefinition({
        name: 'Op',
        inputs: operands.map((type, i) => `x${i}: ${type}`),
        outputs: results.map((type, i) => `y${i}: ${type}`),
        attributes: [...ATTRIBUTES.slice(0, 3), ...others.filter((text) => !text.startsWith('names'))],
      })
      const signature = operationSignature(operation, 'library')
      const read = parseSignature('Op', formatSignature(signature), { source: 'library' })
      const comparable = { convention: 'tensorflow', isComplete: false }
      expect({ ...read, ...comparable }).toEqual(signature)
    }),
    budget,
  )
})
