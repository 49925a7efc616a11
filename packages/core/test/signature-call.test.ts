import { expect, test } from 'vitest'
import { parseSignature, tensorType, type TensorType } from '../src/index.ts'
import { resolveAttributes, resolveCall, type CallType } from '../src/internal.ts'

function call(
  text: string,
  operands: readonly CallType[],
  attributes?: unknown,
  results?: CallType[],
): ReturnType<typeof resolveCall> {
  const signature = parseSignature('kernel', text)
  return resolveCall(signature, { operands, attributes: resolveAttributes(signature, attributes), results })
}

const f32 = (...shape: number[]): TensorType => tensorType('f32', shape)

test('the first operand with a name determines the size', () => {
  const { results } = call('(x: f32[n], y: f32[m, n]) -> (z: f32[m], w: f32[n])', [f32(3), f32(5, 3)])
  expect(results).toEqual([f32(5), f32(3)])
})

test('an axis with one name under +, - and * is solved for it', () => {
  const text = '(x: f32[2*h]) -> (y: f32[h])'
  expect(call(text, [f32(8)]).results).toEqual([f32(4)])
  expect(call('(x: f32[3-(1-2*h)*4]) -> (y: f32[h])', [f32(15)]).results).toEqual([f32(2)])
  expect(() => call(text, [f32(7)])).toThrow('which is not 2*h for any whole number h from 0')
})

test('other expressions of operands are checked when their names are known', () => {
  const text = '(x: f32[n*m], a: f32[n], b: f32[m]) -> ()'
  expect(() => call(text, [f32(6), f32(2), f32(3)])).not.toThrow()
  expect(() => call(text, [f32(7), f32(2), f32(3)])).toThrow('n*m is 6, not 7, for n = 2 and m = 3')
})

test('integer attributes are sizes', () => {
  const text = '(x: f32[n]) -> (y: f32[k], z: f32[n-k]); k: s64'
  expect(call(text, [f32(5)], { k: 2 }).results).toEqual([f32(2), f32(3)])
  expect(() => call(text, [f32(5)], { k: 6 })).toThrow('n-k is -1, which is not a whole number from 0')
  expect(() => call(text, [f32(5)], { k: 2n ** 60n })).toThrow('because it is a size')
})

test('equal groups are equal axes', () => {
  const text = '(x: f32[a, ..., b], y: s8[...]) -> (z: f32[..., a*b])'
  expect(call(text, [f32(2, 5, 6, 3), f32(1)].slice(0, 1).concat(tensorType('s8', [9]))).results).toEqual([
    f32(5, 6, 6),
  ])
  const two = '(x: f32[...s, a], y: f32[...s]) -> ()'
  expect(() => call(two, [f32(2, 3), f32(2)])).not.toThrow()
  expect(() => call(two, [f32(2, 3), f32(1)])).toThrow('x has ...s = [2], not [1]')
})

test('a result that cannot be inferred is given by the caller', () => {
  const text = '(x: f32[n]) -> (y: any[n], z: f32[...], w: f32[?])'
  expect(parseSignature('kernel', text).isComplete).toBe(false)
  const given = [tensorType('s8', [3]), f32(1, 2), f32(9)]
  expect(call(text, [f32(3)], undefined, given).results).toEqual(given)
  expect(() => call(text, [f32(3)])).toThrow('y of kernel must be given')
  expect(() => call(text, [f32(4)], undefined, given)).toThrow('y of kernel must be any[n], got int8[3]: x has n = 4')
})

test('optional operands are omitted from the end, and rest operands share names', () => {
  const text = '(x: f32[n], y?: f32[n], ...zs: f32[n, ?]) -> (w: f32[n])'
  expect(call(text, [f32(2)]).results).toEqual([f32(2)])
  expect(call(text, [f32(2), undefined, []]).results).toEqual([f32(2)])
  expect(call(text, [f32(2), f32(2), [f32(2, 3), f32(2, 4)]]).results).toEqual([f32(2)])
  expect(() => call(text, [f32(2), undefined, [f32(2, 3)]])).toThrow('y of kernel must be given, because zs is given')
  expect(() => call(text, [f32(2), f32(2), [f32(2, 3), f32(3, 4)]])).toThrow('zs[1] of kernel must be float32[n, ?]')
})

test('sizes of an omitted operand are checked when a result determines them', () => {
  const text = '(x: f32[2+n*n], y?: f32[n]) -> (z: f32[n]); where n < 4'
  expect(call(text, [f32(6), f32(2)]).results).toEqual([f32(2)])
  expect(() => call(text, [f32(6)])).toThrow('z of kernel must be given')
  expect(call(text, [f32(6)], undefined, [f32(2)]).results).toEqual([f32(2)])
  const two = '(x: f32, y?: f32[n]) -> (z: f32[n+1], w: f32[n])'
  expect(call(two, [f32()], undefined, [undefined, f32(2)]).results).toEqual([f32(3), f32(2)])
  expect(() => call(text, [f32(6)], undefined, [f32(3)])).toThrow('2+n*n is 11, not 6, for n = 3')
  expect(() => call(text, [f32(27)], undefined, [f32(5)])).toThrow('kernel requires n < 4, got n = 5')
})

test('a result that shares memory has the type of its operand, and tokens are not passed', () => {
  const text = '(t: token, x: any[...] @donated) -> (u: token, y: any[...] @alias(x))'
  expect(parseSignature('kernel', text).isComplete).toBe(true)
  expect(call(text, [f32(2)]).results).toEqual([f32(2)])
  expect(() => call(text, [f32(2)], undefined, [f32(3)])).toThrow('it shares the memory of x')
})

test('temporaries are inferred with the results', () => {
  const { temps } = call('(x: T[n]) -> (); temps (a: T[n+1], b: u8[ceildiv(n, 8)])', [tensorType('bf16', [9])])
  expect(temps).toEqual([tensorType('bf16', [10]), tensorType('u8', [2])])
})
