import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatSignature, parseSignature, SignatureError, tensorType, type KernelSignature } from '../src/index.ts'
import { ArgumentError, type SizeExpression } from '../src/index.ts'
import { resolveAttributes, resolveCall } from '../src/internal.ts'
import { fuzzBudget } from './fuzz-budget.ts'
import { expression, signature, TEXTS } from './signature-fixture.ts'

const { property: budget, test: options } = fuzzBudget(5)

const vocabulary = [
  ...'()[]{},:;?@|=+-*/%<>"\'\\ \n',
  ...['...', '->', '==', '!=', '<=', '>=', '--', 'where', 'temps', 'async', 'stages', 'packed', 'in', 'token', 'any'],
  ...['f32', 'bf16', 's64', 'f32[]', 'enum', 'string', 'bytes', 'pointer', 'dtype', 'dictionary', 'T', 'n', 'x', 'k'],
  ...['ceildiv(', 'min(', 'max(', 'alias(x)', 'donated', 'cm', 'layout(1, 0)', 'inf', 'nan', 'true', '1', '0', '1e5'],
  ...['9007199254740993', '-1', '"a"', '[1, 2]', 'é', '\0', '\u{1f600}', '\ud800', '__proto__'],
]
const chunk = fc.oneof(fc.constantFrom(...vocabulary), fc.string({ unit: 'binary', maxLength: 3 }))
const mutated = fc
  .record({
    text: fc.constantFrom(...TEXTS),
    edits: fc.array(fc.record({ at: fc.nat(200), removed: fc.nat(6), added: chunk }), { minLength: 1, maxLength: 6 }),
  })
  .map(({ text, edits }) =>
    edits.reduce((whole, { at, removed, added }) => {
      const start = at % (whole.length + 1)
      return whole.slice(0, start) + added + whole.slice(start + removed)
    }, text),
  )
const anyText = fc.oneof(
  mutated,
  fc.array(chunk, { maxLength: 40 }).map((parts) => parts.join(' ')),
  fc.string(),
)

/** Reads a text, which gives a signature that is written and read again, or an error with a column. */
function checkText(text: string): KernelSignature | undefined {
  let read: KernelSignature
  try {
    read = parseSignature('kernel', text)
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error
    expect(error.column).toBeGreaterThanOrEqual(1)
    expect(error.column).toBeLessThanOrEqual(text.length + 1)
    expect(error.sentence.startsWith(`column ${error.column}: `)).toBe(true)
    return undefined
  }
  const written = formatSignature(read)
  expect(parseSignature('kernel', written)).toEqual(read)
  expect(formatSignature(parseSignature('kernel', written))).toBe(written)
  return read
}

test('a random text is a signature or a SignatureError', options, () => {
  fc.assert(
    fc.property(anyText, (text) => void checkText(text)),
    budget,
  )
})

test('a random signature is read as it was written', options, () => {
  fc.assert(
    fc.property(signature, (form) => {
      expect(parseSignature('kernel', formatSignature(form))).toEqual(form)
    }),
    budget,
  )
})

/** Returns the value of an expression, or undefined if the value cannot be computed. Independent of the tested code, in bigints. */
function model(tree: SizeExpression, sizes: Readonly<Record<string, bigint>>): bigint | undefined {
  if (typeof tree === 'number') return BigInt(tree)
  if (typeof tree === 'string') return sizes[tree]!
  const left = model(tree.left, sizes)
  const right = model(tree.right, sizes)
  if (left === undefined || right === undefined) return undefined
  const value = operate(tree.operator, left, right)
  return value !== undefined && value <= 2n ** 53n - 1n && value >= -(2n ** 53n - 1n) ? value : undefined
}

function operate(operator: string, left: bigint, right: bigint): bigint | undefined {
  if (operator === '+') return left + right
  if (operator === '-') return left - right
  if (operator === '*') return left * right
  if (operator === 'min') return left < right ? left : right
  if (operator === 'max') return left > right ? left : right
  if (right === 0n) return undefined
  const rest = ((left % right) + right) % right
  const floor = (left - rest) / right
  if (operator === '%') return rest
  if (operator === 'ceildiv') return rest === 0n ? floor : floor + 1n
  return left % right === 0n ? left / right : undefined
}

const NAMES = ['n', 'm', 'k', 'min', 'where', 'c_1']

test('expressions have the value of a model with bigints', options, () => {
  fc.assert(
    fc.property(expression, fc.array(fc.nat(12), { minLength: 6, maxLength: 6 }), (tree, sizes) => {
      const form = parseSignature('kernel', `(x: pred[${NAMES.join(', ')}]) -> ()`)
      const result = { ...form.operands[0]!, name: 'y', shape: [tree] }
      const named = Object.fromEntries(NAMES.map((name, i) => [name, BigInt(sizes[i]!)]))
      const expected = model(tree, named)
      const call = { operands: [tensorType('pred', sizes)], attributes: {} }
      const infer = (): unknown => resolveCall({ ...form, results: [result] }, call).results[0]
      if (expected === undefined || expected < 0n) expect(infer).toThrow(ArgumentError)
      else expect(infer()).toBe(tensorType('pred', [Number(expected)]))
    }),
    budget,
  )
})

test('a name is solved as trying all sizes would solve it', options, () => {
  const linear = fc.record({ factor: fc.integer({ min: -4, max: 4 }), constant: fc.integer({ min: -20, max: 20 }) })
  fc.assert(
    fc.property(linear, fc.nat(40), fc.boolean(), ({ factor, constant }, size, isLeft) => {
      const whole = (value: number): string => (value < 0 ? `(0-${-value})` : String(value))
      const product = isLeft ? `${whole(factor)}*h` : `h*${whole(factor)}`
      const text = `${product}+${whole(constant)}`
      const solutions = Array.from({ length: 100 }, (_, h) => h).filter((h) => factor * h + constant === size)
      const source = `(x: u8[${text}]) -> (y: u8[h])`
      if (factor === 0) {
        expect(() => parseSignature('kernel', source)).toThrow('which no operand and no integer attribute determines')
        return
      }
      const infer = (): unknown => {
        const types = { operands: [tensorType('u8', [size])], attributes: {} }
        return resolveCall(parseSignature('kernel', source), types).results[0]
      }
      if (solutions.length === 0) expect(infer).toThrow('for any whole number h from 0')
      else expect(infer()).toBe(tensorType('u8', solutions))
    }),
    budget,
  )
})

test('calls with random types and attributes only throw ArgumentError', options, () => {
  const type = fc
    .record({ dtype: fc.constantFrom('f32', 'f64', 's32', 'u8'), shape: fc.array(fc.nat(4), { maxLength: 5 }) })
    .map(({ dtype, shape }) => tensorType(dtype, shape))
  const operand = fc.oneof(type, fc.array(type, { maxLength: 3 }), fc.constant(undefined))
  const value = fc.oneof(fc.anything({ withBigInt: true, withTypedArray: true, withNullPrototype: true }), fc.nat(9))
  const given = fc.oneof(
    value,
    fc.dictionary(fc.constantFrom('k', 'k2', 'mode', 'eps', 'z', 'raw', '__proto__'), value),
  )
  const kernel = fc.oneof(
    signature,
    fc.constantFrom(...TEXTS).map((text) => parseSignature('kernel', text)),
  )
  fc.assert(
    fc.property(kernel, fc.array(operand, { maxLength: 5 }), given, (form, types, attributes) => {
      try {
        const resolved = resolveAttributes(form, attributes)
        const operands = types.map((one, i) => {
          const { kind = 'one' } = form.operands.filter(({ isToken }) => !isToken)[i] ?? {}
          return Array.isArray(one) === (kind === 'remaining') ? one : undefined
        })
        resolveCall(form, { operands, attributes: resolved })
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error
        expect(error.details).toHaveProperty('path')
        expect(error.details).toHaveProperty('expected')
      }
    }),
    budget,
  )
})
