import { parseSignature, tensorType, type DType, type TensorType } from '@tenon/core'
import { inferSizes, resolveAttributes, resolveCall } from '@tenon/core/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'

/** Signatures, the ranks of their operands, and attributes. */
const SIGNATURES: readonly (readonly [text: string, ranks: readonly number[], attributes?: object])[] = [
  ['(x: f32[..., d]) -> (y: f32[..., d]); eps: f32', [3], { eps: 1 }],
  ['(a: f32[m, k], b: f32[k, n]) -> (c: f32[m, n])', [2, 2]],
  ['(a: T[...b, m, k], b: T[...b, k, n]) -> (c: T[...b, m, n])', [3, 3]],
  ['(x: f32[n]) -> (y: f32[2*n + 1], z: f32[ceildiv(n, 2)])', [1]],
  ['(x: f32[n], y: f32[n + 1]) -> (z: f32[n % 3, min(n, 2), max(n, 2)])', [1, 1]],
  ['(x: f32[?, 2], y: f32[n, m]) -> (z: f32[n - m]); where n >= m, n != 3', [2, 2]],
  ['(x: f32[n]) -> (y: f32[n / k], z: f32[k]); k: s64', [1], { k: 2n }],
  ['(x: f32[n, k]) -> (y: f32[n] ); k: s32 = 2', [2]],
  ['(x: f32[n], y: f32[n]) -> (z: f32[n] @alias(y))', [1, 1]],
  ['(x: f32[]) -> (y: f32[])', [0]],
  ['() -> (y: f32[4])', []],
]

test.for(SIGNATURES)('types are inferred from sizes alone as from the call: %s', ([text, ranks, given = {}]) => {
  const signature = parseSignature('f', text)
  const attributes = resolveAttributes(signature, given)
  const dtype: DType = 'float32'
  const typesOf = (sizes: readonly number[]): TensorType[] => {
    let next = 0
    return ranks.map((rank) => tensorType(dtype, sizes.slice(next, (next += rank))))
  }
  const count = ranks.reduce((sum, rank) => sum + rank, 0)
  const none = signature.results.map(() => undefined)
  const infer = inferSizes(signature, [...typesOf(Array<number>(count).fill(2)), ...none], attributes)!
  expect(infer).toBeTypeOf('function')
  const resolve = (operands: TensorType[], results?: TensorType[]): TensorType[] | undefined => {
    try {
      return [...operands, ...resolveCall(signature, { operands, attributes, results }).results]
    } catch {
      return undefined
    }
  }
  let fit = 0
  // Few large sizes, because most signatures refuse them.
  const size = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 3 }) }, fc.constant(2 ** 52))
  const sizes = fc.array(size, { minLength: count, maxLength: count })
  fc.assert(
    fc.property(sizes, (random) => {
      const operands = typesWithin(() => typesOf(random))
      if (operands === undefined) return
      const expected = resolve(operands)
      if (expected !== undefined) fit++
      expect(infer([...operands, ...none])).toStrictEqual(expected)
      if (expected === undefined) return
      const passed = expected.slice(operands.length)
      expect(infer(expected)).toStrictEqual(resolve(operands, passed))
      const other = tensorType('f32', [7, 7, 7, 7])
      if (passed.length > 0) expect(infer([...operands, other, ...passed.slice(1)])).toBeUndefined()
    }),
    { numRuns: 500 },
  )
  expect(fit).toBeGreaterThan(0)
})

/** Returns undefined for sizes that no type has. */
function typesWithin(make: () => TensorType[]): TensorType[] | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

test.for([
  ['an optional operand', '(x: f32[n], y?: f32[n]) -> (z: f32[n])'],
  ['a rest operand', '(x: f32[n], ...y: f32[n]) -> (z: f32[n])'],
  ['an operand of any rank', '(x: f32[...]) -> (z: f32[4])'],
  ['an expression that alone determines a name', '(x: f32[2*n]) -> (z: f32[n])'],
  ['a layout', '(x: f32[n, m] @cm) -> (z: f32[n])'],
  ['scratch', '(x: f32[n]) -> (z: f32[n]); temps (t: f32[n])'],
  ['an element type that the operands do not determine', '(x: f32[n]) -> (z: T[n])'],
])('a signature with %s is left to the whole inference', ([, text]) => {
  const signature = parseSignature('f', text!)
  const types = signature.operands.map(({ layout }) => tensorType('f32', layout === undefined ? [2] : [2, 2]))
  expect(inferSizes(signature, [...types, undefined], {})).toBeUndefined()
})
