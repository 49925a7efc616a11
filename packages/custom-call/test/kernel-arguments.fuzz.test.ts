import { parseSignature, TenonError, tensor, tensorType, type Tensor } from '@tenon/core'
import { callsInProgress } from '@tenon/core/internal'
import { f32, FunctionTarget, ptr, targetCall, type Kernel } from '@tenon/custom-call'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { liveObjects } from './kernels.ts'

const SECONDS = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const TEXT =
  '(x: T[n], y?: T[n], ...more: f32[?]) -> (a: T[n] @alias(x), b: f32[n + k]); k: s32 = 1, list?: f32[], mode: enum("p", "q") = "p", at?: pointer'

/** Errors that the arguments themselves throw. */
class Mine extends Error {}

const throwing = new Proxy(
  {},
  {
    get: () => {
      throw new Mine()
    },
    ownKeys: () => {
      throw new Mine()
    },
    getPrototypeOf: () => {
      throw new Mine()
    },
  },
)
const x = tensor('f32', [2], [1, 2])
const values: readonly unknown[] = [
  x,
  x,
  x,
  tensor('f64', [2]),
  tensor('f32', [3]),
  x.type,
  undefined,
  null,
  5,
  2n ** 70n,
  'x',
  Symbol('s'),
  [],
  [x],
  [x, x],
  [undefined],
  Array.from({ length: 300 }, () => x),
  {},
  new Proxy(x, {}),
  throwing,
  Object.create(x),
  new Float32Array(2),
  () => x,
]
const anything = fc.constantFrom(...values)
const attributes = fc.record(
  {
    k: fc.oneof(fc.integer(), fc.constantFrom(0, 1, -1, 2 ** 31, '1', 1n, f32(1), Number.NaN)),
    list: fc.oneof(fc.array(fc.double()), fc.constantFrom(new Float32Array(3), new Uint8ClampedArray(2), [1n], 5)),
    mode: fc.constantFrom('p', 'q', 'r', 5, null),
    at: fc.constantFrom(x, ptr(x), 5n, -1n, 'x', x.segment),
    unknown: anything,
  },
  { requiredKeys: [] },
)
const options = fc.record(
  {
    into: fc.oneof(anything, fc.record({ a: anything, b: anything }, { requiredKeys: [] })),
    results: fc.oneof(anything, fc.record({ b: fc.constantFrom(tensorType('f32', [3]), x, 5) }, { requiredKeys: [] })),
    alignment: fc.constantFrom(4, 8, 64, 3, '4', -1),
    layouts: fc.oneof(anything, fc.constantFrom({ operands: { x: 'cm' } }, { operands: { x: [0] } })),
    allocator: anything,
    resources: anything,
    other: anything,
  },
  { requiredKeys: [] },
)

test('a kernel returns, or refuses its arguments with an error of this package', () => {
  const signature = parseSignature('written', TEXT)
  using target = FunctionTarget.open('written', signature, () => {})
  const kernel: Kernel<Record<string, Tensor>> = targetCall(signature, target.handler, { frames: 3 })
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 4 }), attributes, options, fc.nat(2), (operands, given, more, rest) => {
      const args = [x, ...operands, ...[given, more].slice(0, rest)].slice(operands.length === 4 ? 1 : 0)
      try {
        const results = kernel(...(args as never[]))
        expect(Object.keys(results)).toEqual(['a', 'b'])
      } catch (error) {
        if (!(error instanceof TenonError || error instanceof Mine)) throw error
      }
    }),
    SECONDS === 0 ? { numRuns: 500 } : { interruptAfterTimeLimit: SECONDS * 1000, numRuns: Infinity },
  )
  expect(x.toArray()).toEqual([1, 2])
  expect(callsInProgress.depth).toBe(0)
  expect(liveObjects()).toEqual({ errors: 0, futures: 0 })
})
