import { dtypes, tensor, tensorType, type Tensor } from '@tenon/core'
import { f32, s32, temp, token, typedHandler, u8, type OperandShape, type ResultShape } from '@tenon/custom-call'
import { expect, test } from 'vitest'
import { kernels } from './kernels.ts'

const describeBuffers = typedHandler(kernels, 'describe_buffers')
const text = tensor('u8', [256])

/** Returns a typed handler's description of the buffers of a call. */
function seen(
  operands: readonly OperandShape[],
  results: readonly ResultShape[],
  given: readonly Tensor[],
  made: readonly Tensor[] = [],
): string {
  using call = describeBuffers.prepare({ operands, results: [...results, u8([256])] })
  call.run(given, [...made, text])
  return Buffer.from(text.view() as Uint8Array)
    .toString()
    .replace(/\0.*$/s, '')
}

test('a typed handler sees a token as a buffer of rank 0 without data', () => {
  expect(seen([token], [token], [])).toBe('TOKEN[]* -> TOKEN[]* U8[256]')
})

test('buffers have every element type, with at least a byte for each element', () => {
  const types = dtypes.map(({ name }) => tensorType(name, [3], { packing: 'element' }))
  expect(types.length).toBeGreaterThan(25)
  for (const [i, type] of types.entries()) {
    const x = tensor(type.dtype, [3], undefined, { packing: 'element' })
    expect(x.segment.byteSize).toBe(3 * Math.ceil(dtypes[i]!.bits / 8))
    expect(seen([type], [type], [x], [x])).toMatch(/^([A-Z]+\w*)\[3\] -> \1\[3\] U8\[256\]$/)
  }
  const names = types.map((type) => seen([type], [], [tensor(type.dtype, [3], undefined, { packing: 'element' })]))
  expect(new Set(names).size).toBe(types.length)
  for (const name of ['F8E5M2', 'F8E4M3FN', 'S4', 'U2', 'S1', 'F4E2M1FN', 'F8E8M0FNU', 'BF16', 'C128', 'PRED']) {
    expect(names).toContain(`${name}[3] -> U8[256]`)
  }
})

test('tuples are flattened, and empty tuples have no buffer', () => {
  const x = tensor('f32', [2, 4])
  expect(seen([x, [], [s32([]), [[x]]]], [], [x, tensor('s32', []), x])).toBe('F32[2,4] S32[] F32[2,4] -> U8[256]')
})

test('scratch is a result for which a run takes no tensor', () => {
  expect(seen([], [temp(f32([3])), temp(s32([0]))], [])).toBe(' -> F32[3] S32[0] U8[256]')
})

test('operands and results that contain themselves are refused', () => {
  const inItself: OperandShape[] = []
  inItself.push(inItself)
  expect(() => seen(inItself, [], [])).toThrow(/operands of describe_buffers must be nested at most 64 deep, got more/)
  expect(() => seen([], [inItself as ResultShape], [])).toThrow(
    /results of describe_buffers must be nested at most 64 deep/,
  )
})
