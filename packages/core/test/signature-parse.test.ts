import { expect, test } from 'vitest'
import { formatSignature, parseSignature, SignatureError } from '../src/index.ts'

/** Texts in the form in which signatures are written. */
const TEXTS = [
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

test.each(TEXTS)('rule 11: %s is written as it was read', (text) => {
  const signature = parseSignature('kernel', text)
  expect(formatSignature(signature)).toBe(text)
  expect(parseSignature('kernel', formatSignature(signature))).toEqual(signature)
})

test('rule 19: an error has the column, the text and a caret', () => {
  let error: unknown
  try {
    parseSignature('f', '(x: f32[n]) -> (y: f32[m])')
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(SignatureError)
  expect(error).toMatchObject({ column: 24, code: 'TENON_SIGNATURE' })
  expect((error as SignatureError).sentence).toBe(
    [
      'column 24: y uses m, which no operand and no integer attribute determines',
      '  (x: f32[n]) -> (y: f32[m])',
      '                         ^',
    ].join('\n'),
  )
})
