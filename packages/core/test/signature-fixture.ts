import fc from 'fast-check'
import { dtypes, type AttributeParameter, type AttributeType, type Condition } from '../src/index.ts'
import type { Dimension, KernelSignature, Parameter, SizeExpression } from '../src/index.ts'
import type { AttributeLiteral, SizeOperator } from '../src/signatures/kernel-signature.ts'

/** Texts in the form in which signatures are written, with every construct of the language. */
export const TEXTS: readonly string[] = [
  '() -> ()',
  '(x: f32) -> ()',
  '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1 -- Softmax over the last axis.',
  '(a: T[..., m, k], b: T[..., k, n], bias?: T[n]) -> (c: T[..., m, n]); where T in f32 | f64',
  '(x: T[..., n]) -> (values: T[..., k], indices: s32[..., k]); k: s64; where k <= n',
  '(...xs: any[?, 2*h, (a+1)*2]) -> (y: any[...])',
  '(x: f32[n] @donated, t: token) -> (y: f32[n] @alias(x), u: token)',
  '(x: bf16[n, m] @cm) -> (y: f16 | s4[m, n] @layout(1, 0))',
  '(x: u8[n]) -> (y: u8[min(n, 3), max(n, 3), ceildiv(n, 2), n/2, n%2, n-(2-1)]); where n%2 == 0, n > 1, n != 7',
  '(x: u8[n, ...axes, 3]) -> (y: u8[...axes, n]); temps (t: f32[n+1]); async; stages (instantiate: a, prepare: b, initialize: c)',
  '(x: u8) -> (); mode: enum("fast", "exact") = "fast", names?: string, raw: bytes = "\\u0000", raw2: bytes = [255]',
  '(x: u8) -> (); p: pointer = 4096, d: dtype = "float32", m: dictionary, z: { a: s8 = -1, b?: {}, "a-b": pred = true }',
  '(x: u8) -> (); c: c64 = [1, -2.5], d: c128 = [nan, inf], e: f32[] = [-inf, -0, 1e-7], f: u64[] = [18446744073709551615]',
  '(x: u8) -> (y: u8); eps: f64; packed (x, eps, y)',
]

const SIZES = ['n', 'm', 'k', 'min', 'where', 'c_1']
const operators: readonly SizeOperator[] = ['+', '-', '*', '/', '%', 'ceildiv', 'min', 'max']

/** Expressions of few levels over the names of sizes. */
export const expression: fc.Arbitrary<SizeExpression> = fc.letrec<{ tree: SizeExpression }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { arbitrary: fc.constantFrom(...SIZES), weight: 3 },
    { arbitrary: fc.nat(9), weight: 2 },
    { arbitrary: fc.maxSafeNat(), weight: 1 },
    {
      arbitrary: fc.record({ operator: fc.constantFrom(...operators), left: tie('tree'), right: tie('tree') }),
      weight: 4,
    },
  ),
})).tree

const dtype = fc.constantFrom(...dtypes.map(({ name }) => name))
const dtypeList = fc.uniqueArray(dtype, { minLength: 1, maxLength: 4 })
const dimensions: fc.Arbitrary<readonly Dimension[] | undefined> = fc
  .record({
    head: fc.array(fc.oneof(expression, fc.constant(null)), { maxLength: 3 }),
    group: fc.option(fc.constantFrom({ group: '' }, { group: 'batch' }), { nil: undefined }),
    tail: fc.array(fc.oneof(expression, fc.constant(null)), { maxLength: 3 }),
  })
  .map(({ head, group, tail }) => {
    const shape = group === undefined ? [...head, ...tail] : [...head, group, ...tail]
    return shape.length === 1 && group?.group === '' ? undefined : shape
  })

const plain: Parameter = {
  name: '',
  kind: 'one',
  dtypes: [],
  variable: undefined,
  isToken: false,
  shape: undefined,
  alias: undefined,
  isDonated: false,
  layout: undefined,
}

const parameter: fc.Arbitrary<Parameter> = fc
  .record({
    elements: fc.oneof(
      dtypeList.map((list) => ({ dtypes: list, variable: undefined })),
      fc.constantFrom('T', 'Other').map((variable) => ({ dtypes: [], variable })),
      fc.constant({ dtypes: [], variable: undefined }),
    ),
    shape: dimensions,
    isToken: fc.boolean(),
  })
  .map(({ elements, shape, isToken }) =>
    isToken && shape === undefined ? { ...plain, isToken, shape: [] } : { ...plain, ...elements, shape },
  )

const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const INTEGERS = ['s8', 's16', 's32', 'u8', 'u16', 'u32'] as const
const LOW = { s8: -128, s16: -32_768, s32: -(2 ** 31), u8: 0, u16: 0, u32: 0 } as const
const HIGH = { s8: 127, s16: 32_767, s32: 2 ** 31 - 1, u8: 255, u16: 65_535, u32: 2 ** 32 - 1 } as const
const float = fc.double()
const single = fc.float()

type Typed = readonly [AttributeType, AttributeLiteral]
const typed = <Type extends AttributeType>(type: Type, value: fc.Arbitrary<AttributeLiteral>): fc.Arbitrary<Typed> =>
  value.map((literal): Typed => [type, literal])
const integer = fc.constantFrom(...INTEGERS)

const defaults: fc.Arbitrary<Typed> = fc.oneof(
  typed('pred', fc.boolean()),
  typed('f32', single),
  typed('f64', float),
  typed('s64', fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)),
  typed('u64', fc.bigInt(0n, 2n ** 64n - 1n)),
  typed('c64', fc.tuple(single, single)),
  typed('c128', fc.tuple(float, float)),
  typed('string', text),
  typed('bytes', fc.uint8Array({ maxLength: 6 })),
  typed('pointer', fc.bigInt(0n, 2n ** 48n)),
  typed('dtype', dtype),
  typed('f64[]', fc.array(float, { maxLength: 3 })),
  typed('s64[]', fc.array(fc.bigInt(-5n, 2n ** 63n - 1n), { maxLength: 3 })),
  integer.chain((type) => typed(type, fc.integer({ min: LOW[type], max: HIGH[type] }))),
  integer.chain((type) =>
    typed(`${type}[]`, fc.array(fc.integer({ min: LOW[type], max: HIGH[type] }), { maxLength: 3 })),
  ),
  fc.uniqueArray(text, { minLength: 1, maxLength: 3 }).map((list): Typed => [{ enum: list }, list[0]!]),
)

const attributeName = fc.oneof(
  fc.constantFrom('k2', 'async', 'where', 'temps', 'packed', 'stages', 'in', 'inf', 'A', 'x-y', '__proto__'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
)

const attribute: fc.Arbitrary<AttributeParameter> = fc.letrec<{ one: AttributeParameter }>((tie) => ({
  one: fc.oneof(
    { maxDepth: 3 },
    fc
      .record({ name: attributeName, of: defaults, has: fc.boolean(), isOptional: fc.boolean() })
      .map(({ name, of: [type, literal], has, isOptional }): AttributeParameter => ({
        name,
        type,
        isOptional: has || isOptional,
        fallback: has ? literal : undefined,
      })),
    fc
      .record({
        name: attributeName,
        members: fc.uniqueArray(tie('one'), { maxLength: 3, selector: ({ name }) => name }),
        isOptional: fc.boolean(),
      })
      .map(({ name, members, isOptional }): AttributeParameter => ({
        name,
        type: { members },
        isOptional,
        fallback: undefined,
      })),
  ),
})).one

const condition: fc.Arbitrary<Condition> = fc.record({
  comparison: fc.constantFrom('==', '!=', '<', '<=', '>', '>='),
  left: expression,
  right: expression,
})

const bound: Parameter = { ...plain, name: 'a0', variable: 'T', shape: [...SIZES, { group: '' }] }
const bound2: Parameter = { ...plain, name: 'b0', dtypes: ['int8'], shape: [{ group: 'batch' }] }

/** Signatures that the language can express. Their first operands determine all names. */
export const signature: fc.Arbitrary<KernelSignature> = fc
  .record({
    operands: fc.array(parameter, { maxLength: 3 }),
    optionals: fc.array(parameter, { maxLength: 2 }),
    remaining: fc.option(parameter, { nil: undefined }),
    results: fc.array(parameter, { maxLength: 3 }),
    temps: fc.array(fc.array(expression, { maxLength: 3 }), { maxLength: 2 }),
    attributes: fc.uniqueArray(attribute, { maxLength: 4, selector: ({ name }) => name }),
    conditions: fc.array(condition, { maxLength: 2 }),
    variable: fc.option(dtypeList, { nil: undefined }),
    isAsync: fc.boolean(),
    isPacked: fc.boolean(),
    doc: fc.string({ unit: 'grapheme', maxLength: 20 }),
  })
  .map((read) => {
    const withTypes = (one: Parameter, name: string, kind: Parameter['kind'] = 'one'): Parameter => ({
      ...one,
      name,
      kind,
      dtypes: one.variable === 'T' && read.variable !== undefined ? read.variable : one.dtypes,
    })
    const optional = (one: Parameter): Parameter => (one.isToken ? { ...plain, variable: 'T' } : one)
    const operands = [
      withTypes(bound, 'a0'),
      bound2,
      ...read.operands.map((one, i) => withTypes(one, `o${i}`)),
      ...read.optionals.map((one, i) => withTypes(optional(one), `p${i}`, 'optional')),
      ...(read.remaining === undefined ? [] : [withTypes(optional(read.remaining), 'rest', 'remaining')]),
    ]
    const results = read.results.map((one, i) => withTypes(one, `r${i}`))
    const temps = read.temps.map((shape, i): Parameter => ({ ...plain, name: `t${i}`, dtypes: ['float32'], shape }))
    const attributes = read.attributes.filter(({ name }) => !/^[aboprt]\d$|^rest$/.test(name))
    const named = [...operands, ...results, ...temps].filter(({ isToken }) => !isToken)
    const isBound = (variable: string | undefined): boolean => operands.some((one) => one.variable === variable)
    return {
      name: 'kernel',
      convention: 'typed',
      source: 'option',
      operands,
      results,
      temps,
      attributes,
      conditions: read.conditions,
      stages: {},
      isAsync: read.isAsync,
      packedOrder: read.isPacked ? [...attributes, ...named].map(({ name }) => name) : undefined,
      doc: read.doc.replaceAll(/\p{Cc}/gu, '').trim(),
      isComplete: results.every(
        ({ isToken, dtypes: list, variable, shape }) =>
          isToken ||
          ((list.length === 1 || (variable !== undefined && isBound(variable))) &&
            shape !== undefined &&
            !shape.includes(null)),
      ),
    }
  })
