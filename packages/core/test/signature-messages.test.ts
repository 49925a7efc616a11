import { expect, test } from 'vitest'
import { ArgumentError, parseSignature, tensorType, type TensorType } from '../src/index.ts'
import { resolveAttributes, resolveCall, type CallType } from '../src/internal.ts'

const signatures = {
  add: '(a: f32[n], b: f32[n]) -> (c: f32[n])',
  softmax: '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1',
  matmul: '(a: T[..., m, k], b: T[..., k, n], bias?: T[n]) -> (c: T[..., m, n]); where T in f32 | f64',
  topk: '(x: T[..., n]) -> (values: T[..., k], indices: s32[..., k]); k: s64; where k <= n',
  rope: '(x: f32[s, 2*h], table: f32[s, h]) -> (y: f32[s, 2*h])',
  pool: '(x: f32[n], out: f32[n/2]) -> (y: f32[n/2])',
  tile: '(x: f32[n]) -> (y: f32[n-4]); tile: s32 = 4; where n%tile == 0',
  trace: '(x: f32[n, n]) -> (y: f32)',
  norm: '(x: bf16 | f16[..., 8], scale?: f32, shift?: f32) -> (y: f32[...])',
  concat: '(axis: s32, ...xs: T[n, ?]) -> (y: T[n, ?])',
  rgb: '(x: u8[3, h, w]) -> (y: u8[h, w])',
  scale: '(x: any[...] @donated) -> (y: any[...] @alias(x)); by: f64',
  solve: '(a: f64[..., n, n] @cm) -> (x: f64[..., n, n] @cm)',
  fill: '() -> (y: f32[n]); n: s64',
} as const

const f32 = (...shape: number[]): TensorType => tensorType('f32', shape)
const f64 = (...shape: number[]): TensorType => tensorType('f64', shape)
const typed = (dtype: string, ...shape: number[]): TensorType => tensorType(dtype, shape)

interface Call {
  readonly operands?: readonly CallType[]
  readonly attributes?: unknown
  readonly results?: readonly CallType[]
}

function errorOf(kernel: keyof typeof signatures, { operands = [], attributes, results }: Call): ArgumentError {
  const signature = parseSignature(kernel, signatures[kernel])
  try {
    resolveCall(signature, { operands, attributes: resolveAttributes(signature, attributes), results })
  } catch (error) {
    if (error instanceof ArgumentError) return error
    throw error
  }
  throw new Error(`${kernel} was called without an error`)
}

/** Wrong calls, each with its message and its hint. */
const rows: readonly (readonly [keyof typeof signatures, Call, string, string])[] = [
  ['add', { operands: [f32(4)] }, 'add takes 2 operands (a, b), got 1', 'Pass b, which is float32[n].'],
  ['add', { operands: [f32(4), f32(4), f32(4)] }, 'add takes 2 operands (a, b), got 3', 'Pass at most 2 operands.'],
  [
    'add',
    { operands: [f32(4), f32(3)] },
    'b of add must be float32[n], got float32[3]: a has n = 4, not 3',
    'Pass b with size 4 in axis 0, or a with size 3 in axis 0.',
  ],
  [
    'add',
    { operands: [f32(4), f64(4)] },
    'b of add must be float32[n], got float64[4]: its elements are float64, not float32',
    'Pass b with elements of float32.',
  ],
  [
    'add',
    { operands: [f32(4), f32()] },
    'b of add must be float32[n], got float32[]: it has 0 axes, not 1',
    'Pass b with 1 axis.',
  ],
  [
    'add',
    { operands: [f32(4), f32(4)], results: [f32(5)] },
    'c of add must be float32[n], got float32[5]: a has n = 4, not 5',
    'Pass c with size 4 in axis 0, or a with size 5 in axis 0.',
  ],
  [
    'add',
    { operands: [f32(4), f32(4)], results: [f64(4)] },
    'c of add must be float32[n], got float64[4]: its elements are float64, not float32',
    'Pass c with elements of float32.',
  ],
  [
    'add',
    { operands: [f32(4), f32(4)], attributes: { eps: 1 } },
    'add does not have an attribute named eps',
    'Omit eps, because add does not have attributes.',
  ],
  ['add', { operands: [f32(4), undefined] }, 'add takes 2 operands (a, b), got 1', 'Pass b, which is float32[n].'],
  [
    'softmax',
    { operands: [f32()] },
    'x of softmax must be float32[..., c], got float32[]: it has 0 axes, not at least 1',
    'Pass x with at least 1 axis.',
  ],
  [
    'softmax',
    { operands: [f64(2, 3)] },
    'x of softmax must be float32[..., c], got float64[2, 3]: its elements are float64, not float32',
    'Pass x with elements of float32.',
  ],
  [
    'softmax',
    { operands: [f32(2, 3)], attributes: { temprature: 2 } },
    'softmax does not have an attribute named temprature',
    'Did you mean temperature?',
  ],
  [
    'softmax',
    { operands: [f32(2, 3)], attributes: { temperature: '2' } },
    'temperature of softmax must be f32, got "2"',
    'Pass a number.',
  ],
  [
    'softmax',
    { operands: [f32(2, 3)], attributes: { temperature: 1e300 } },
    'temperature of softmax must be f32, got 1e+300',
    'Pass a number of at most 3.4e38 in magnitude.',
  ],
  [
    'softmax',
    { operands: [f32(2, 3)], attributes: 2 },
    'the attributes of softmax must be an object, got 2',
    'Pass { temperature: 0.5 }.',
  ],
  [
    'softmax',
    { operands: [f32(2, 3)], results: [f32(3, 2)] },
    'y of softmax must be float32[..., c], got float32[3, 2]: x has ... = [2], not [3]',
    'Pass y and x with the same axes for ..., because axes are not broadcast.',
  ],
  [
    'matmul',
    { operands: [f32(2, 3)] },
    'matmul takes 2 to 3 operands (a, b, bias), got 1',
    'Pass b, which is T[..., k, n].',
  ],
  [
    'matmul',
    { operands: [f32(2, 3), f32(4, 4)] },
    'b of matmul must be T[..., k, n], got float32[4, 4]: a has k = 3, not 4',
    'Pass b with size 3 in axis 0, or a with size 4 in axis 1.',
  ],
  [
    'matmul',
    { operands: [f32(2, 3), f64(3, 4)] },
    'b of matmul must be T[..., k, n], got float64[3, 4]: a has T = float32, not float64',
    'Pass b with elements of float32, or a with elements of float64.',
  ],
  [
    'matmul',
    { operands: [typed('s32', 2, 3), typed('s32', 3, 4)] },
    'a of matmul must be T[..., m, k], got int32[2, 3]: T is one of float32, float64',
    'Pass a with elements of float32 or float64.',
  ],
  [
    'matmul',
    { operands: [f32(3), f32(3, 4)] },
    'a of matmul must be T[..., m, k], got float32[3]: it has 1 axis, not at least 2',
    'Pass a with at least 2 axes.',
  ],
  [
    'matmul',
    { operands: [f32(5, 2, 3), f32(6, 3, 4)] },
    'b of matmul must be T[..., k, n], got float32[6, 3, 4]: a has ... = [5], not [6]',
    'Pass b and a with the same axes for ..., because axes are not broadcast.',
  ],
  [
    'matmul',
    { operands: [f32(2, 3), f32(5, 3, 4)] },
    'b of matmul must be T[..., k, n], got float32[5, 3, 4]: a has ... = [], not [5]',
    'Pass b and a with the same axes for ..., because axes are not broadcast.',
  ],
  [
    'matmul',
    { operands: [f32(2, 3), f32(3, 4), f32(5)] },
    'bias of matmul must be T[n], got float32[5]: b has n = 4, not 5',
    'Pass bias with size 4 in axis 0, or b with size 5 in axis 1.',
  ],
  ['topk', { operands: [f32(7)] }, 'k of topk must be s64, got no value', 'Pass k, for example 1.'],
  [
    'topk',
    { operands: [f32(7)], attributes: { k: 9 } },
    'topk requires k <= n, got k = 9 and n = 7',
    'Pass another value for the attribute k, or x with another size in axis 0.',
  ],
  [
    'topk',
    { operands: [f32(7)], attributes: { k: 2.5 } },
    'k of topk must be s64, got 2.5',
    'Pass a whole number from -2^63 to 2^63 - 1, as a bigint beyond 2^53 - 1.',
  ],
  [
    'topk',
    { operands: [f32(7)], attributes: { k: -1 } },
    'values of topk must be T[..., k], got k = -1: k is -1, which is not a whole number from 0',
    'Pass another value for the attribute k.',
  ],
  [
    'topk',
    { operands: [f32(7)], attributes: { k: 2n ** 60n } },
    'k of topk must be at most 2^53 - 1 in magnitude, because it is a size, got 1152921504606846976',
    'Pass a smaller value for the attribute k.',
  ],
  [
    'topk',
    { operands: [f32(7)], attributes: { k: 2 }, results: [f32(3)] },
    'values of topk must be T[..., k], got float32[3]: the attribute k is 2, not 3',
    'Pass values with size 2 in axis 0, or 3 for the attribute k.',
  ],
  [
    'topk',
    { operands: [f32(7)], attributes: { k: 2 }, results: [undefined, typed('s64', 2)] },
    'indices of topk must be int32[..., k], got int64[2]: its elements are int64, not int32',
    'Pass indices with elements of int32.',
  ],
  [
    'rope',
    { operands: [f32(2, 7), f32(2, 3)] },
    'x of rope must be float32[s, 2*h], got float32[2, 7]: axis 1 has size 7, which is not 2*h for any whole number h from 0',
    'Pass x with a size of 2*h in axis 1.',
  ],
  [
    'rope',
    { operands: [f32(2, 8), f32(2, 3)] },
    'table of rope must be float32[s, h], got float32[2, 3]: x has h = 4, not 3',
    'Pass table with size 4 in axis 1.',
  ],
  [
    'rope',
    { operands: [f32(2, 8), f32(3, 4)] },
    'table of rope must be float32[s, h], got float32[3, 4]: x has s = 2, not 3',
    'Pass table with size 2 in axis 0, or x with size 3 in axis 0.',
  ],
  [
    'pool',
    { operands: [f32(7), f32(3)] },
    'out of pool must be float32[n/2], got float32[3]: n/2 is 7/2, which is not a whole number',
    'Pass x with another size in axis 0.',
  ],
  [
    'pool',
    { operands: [f32(8), f32(3)] },
    'out of pool must be float32[n/2], got float32[3]: n/2 is 4, not 3, for n = 8',
    'Pass out with size 4 in axis 0.',
  ],
  [
    'tile',
    { operands: [f32(6)] },
    'tile requires n%tile == 0, got n = 6 and tile = 4',
    'Pass x with another size in axis 0, or another value for the attribute tile.',
  ],
  [
    'tile',
    { operands: [f32(8)], attributes: { tile: 0 } },
    'tile requires n%tile == 0, got n = 8 and tile = 0: n%tile is a division of 8 by 0',
    'Pass x with another size in axis 0, or another value for the attribute tile.',
  ],
  [
    'tile',
    { operands: [f32(3)], attributes: { tile: 3 } },
    'y of tile must be float32[n-4], got n = 3: n-4 is -1, which is not a whole number from 0',
    'Pass x with another size in axis 0.',
  ],
  [
    'trace',
    { operands: [f32(2, 3)] },
    'x of trace must be float32[n, n], got float32[2, 3]: axis 0 has n = 2, not 3',
    'Pass x with the same size in axes 0 and 1.',
  ],
  [
    'norm',
    { operands: [f32(2, 8)] },
    'x of norm must be bfloat16 | float16[..., 8], got float32[2, 8]: its elements are float32, not one of bfloat16, float16',
    'Pass x with elements of bfloat16 or float16.',
  ],
  [
    'norm',
    { operands: [typed('bf16', 2, 9)], results: [f32(1)] },
    'x of norm must be bfloat16 | float16[..., 8], got bfloat16[2, 9]: axis 1 has size 9, not 8',
    'Pass x with size 8 in axis 1.',
  ],
  [
    'norm',
    { operands: [typed('bf16', 8), undefined, f32()], results: [f32(1)] },
    'scale of norm must be given, because shift is given',
    'Pass scale, which is float32[], or omit shift: only operands at the end can be omitted.',
  ],
  [
    'norm',
    { operands: [typed('bf16', 8)] },
    'y of norm must be given, because the call does not determine the number of axes in float32[...]',
    'Pass a tensor for the result with into, or its type with results.',
  ],
  ['concat', { operands: [] }, 'concat takes at least 1 operand (axis, ...xs), got 0', 'Pass axis, which is int32[].'],
  [
    'concat',
    { operands: [typed('s32'), [f32(2, 3), f32(3, 3)]], results: [f32(2, 6)] },
    'xs[1] of concat must be T[n, ?], got float32[3, 3]: xs[0] has n = 2, not 3',
    'Pass xs[1] with size 2 in axis 0, or xs[0] with size 3 in axis 0.',
  ],
  [
    'concat',
    { operands: [typed('s32'), [f32(2, 3), f64(2, 3)]], results: [f32(2, 6)] },
    'xs[1] of concat must be T[n, ?], got float64[2, 3]: xs[0] has T = float32, not float64',
    'Pass xs[1] with elements of float32, or xs[0] with elements of float64.',
  ],
  [
    'concat',
    { operands: [typed('s32'), [f32(2, 3), f32(2, 3)]] },
    'y of concat must be given, because the call does not determine the size of axis 1 in T[n, ?]',
    'Pass a tensor for the result with into, or its type with results.',
  ],
  [
    'rgb',
    { operands: [typed('u8', 4, 5, 6)] },
    'x of rgb must be uint8[3, h, w], got uint8[4, 5, 6]: axis 0 has size 4, not 3',
    'Pass x with size 3 in axis 0.',
  ],
  [
    'scale',
    { operands: [f32(4)], attributes: { by: 2 }, results: [f32(5)] },
    'y of scale must be float32[4], got float32[5]: it shares the memory of x',
    'Pass x itself.',
  ],
  ['scale', { operands: [f32(4)] }, 'by of scale must be f64, got no value', 'Pass by, for example 0.5.'],
  ['scale', { operands: [f32(4)], attributes: { by: 2n } }, 'by of scale must be f64, got 2n', 'Pass a number.'],
  [
    'scale',
    { operands: [f32(3, 2)], attributes: { by: 2 }, results: [tensorType('f32', [3, 2], { strides: [1, 3] })] },
    'y of scale must be float32[3, 2], got float32[3, 2]: it shares the memory of x, and their strides differ',
    'Pass x itself.',
  ],
  [
    'solve',
    { operands: [f64(3)] },
    'a of solve must be float64[..., n, n], got float64[3]: it has 1 axis, not at least 2',
    'Pass a with at least 2 axes.',
  ],
  [
    'solve',
    { operands: [f64(2, 3, 4)] },
    'a of solve must be float64[..., n, n], got float64[2, 3, 4]: axis 1 has n = 3, not 4',
    'Pass a with the same size in axes 1 and 2.',
  ],
  ['fill', { operands: [f32(1)], attributes: { n: 1 } }, 'fill takes 0 operands, got 1', 'Call fill without operands.'],
  [
    'fill',
    { attributes: { n: -3 } },
    'y of fill must be float32[n], got n = -3: n is -3, which is not a whole number from 0',
    'Pass another value for the attribute n.',
  ],
  [
    'fill',
    { attributes: { n: 2 ** 52 } },
    'y of fill must have at most 2^53 - 1 bytes, got float32[4503599627370496]',
    'Pass another value for the attribute n.',
  ],
]

test.each(rows)('%s explains a wrong call, number %#', (kernel, call, sentence, hint) => {
  const error = errorOf(kernel, call)
  expect({ sentence: error.sentence, hint: error.hint }).toEqual({ sentence, hint })
  expect(error.details).toMatchObject({ path: expect.any(String) as string, expected: expect.anything() as unknown })
  expect(error.details).toHaveProperty('received')
  expect(error.sentence).toContain(kernel)
})
