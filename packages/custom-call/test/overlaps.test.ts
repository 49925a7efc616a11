import { ArgumentError, NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { batch, customCall, f32, hostCall, targetCall, typedHandler, type PreparedCall } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { filled, kernels } from './kernels.ts'

// A result may have exactly the bytes of an operand. Other bytes of an operand, or of another result, are refused.

const SAXPY = '(x: f32[n], y: f32[n]) -> (z: f32[n]); a: f32'
const a = f32(2)

const eight = (value: (index: number) => number): number[] => Array.from({ length: 8 }, (_, i) => value(i))

/** Eight floats from the element `start` of memory that the tensors of one test share. */
type At = (start: number) => Tensor

const memory = (): At => {
  const all = filled([64], (i) => i)
  return (start) => all.slice([start, start + 8]) as Tensor
}

type Run = (x: Tensor, y: Tensor, z: Tensor) => unknown

const prepared = (): PreparedCall =>
  typedHandler(kernels, 'saxpy').prepare({
    operands: [f32([8]), f32([8])],
    results: [f32([8])],
    attrs: { a },
  })

const listed = customCall(kernels, 'saxpy')
const named = targetCall(SAXPY, typedHandler(kernels, 'saxpy'))

/** The ways to pass two operands and a result to a kernel. */
const forms: Readonly<Record<string, Run>> = {
  'customCall()': (x, y, z) => listed([x, y], { results: [z], attrs: { a } }),
  'customCall().async': async (x, y, z) => listed.async([x, y], { results: [z], attrs: { a } }),
  'targetCall()': (x, y, z) => named(x as never, y as never, { a: 2 }, { into: z } as never),
  'run()': (x, y, z) => prepared().run([x, y], [z]),
  'runAsync()': async (x, y, z) => prepared().runAsync([x, y], [z]),
  'bind()': (x, y, z) => {
    using bound = prepared().bind([x, y], [z])
    bound.run()
  },
  'batch()': (x, y, z) => {
    using calls = batch([{ call: prepared(), operands: [x, y], results: [z] }])
    calls.run()
  },
}

/** Memory of eight elements that shares some with those of the element 16 to 24. */
const inPart = [9, 12, 15, 17, 20, 23]

describe.each(Object.entries(forms))('a result of %s', (_name, run) => {
  test.each(inPart)('from element %i on is refused, because an operand has some of its bytes', async (start) => {
    for (const [x, y] of [
      [16, 40],
      [40, 16],
    ] as const) {
      const at = memory()
      const before = at(start).toArray()
      await expect(async () => run(at(x), at(y), at(start))).rejects.toThrow(ArgumentError)
      await expect(async () => run(at(x), at(y), at(start))).rejects.toThrow(
        new RegExp(`must not overlap a part of .+, got ${4 * (8 - Math.abs(start - 16))} common bytes`),
      )
      expect(at(start).toArray()).toEqual(before)
    }
  })

  test.each([8, 16, 24])('from element %i on may have all bytes of an operand, or none', async (start) => {
    const at = memory()
    await run(at(16), at(40), at(start))
    expect(at(start).toArray()).toEqual(eight((i) => 2 * (16 + i) + 40 + i))
  })

  test('may be apart from operands that overlap each other', async () => {
    const at = memory()
    await run(at(16), at(20), at(40))
    expect(at(40).toArray()).toEqual(eight((i) => 2 * (16 + i) + 20 + i))
  })

  test('may have the bytes of two operands', async () => {
    const at = memory()
    await run(at(16), at(16), at(16))
    expect(at(16).toArray()).toEqual(eight((i) => 3 * (16 + i)))
  })
})

test('a result of an untyped function is refused if it has some bytes of an operand', () => {
  const increment = hostCall(NativeLibrary.open(kernelLibrary('kernels_runtime')), 'increment')
  const all = tensor('s32', [12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  const at = (start: number): Tensor => all.slice([start, start + 4]) as Tensor
  for (const start of [1, 2, 3, 5, 6, 7]) {
    expect(() => increment([at(4)], { results: [at(start)] })).toThrow(
      /^result 0 of increment must not overlap a part of operand 0 of increment, got (4|8|12) common bytes/,
    )
  }
  expect(all.toArray()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  for (const start of [0, 4, 8]) increment([at(4)], { results: [at(start)] })
  expect(all.toArray()).toEqual([5, 6, 7, 8, 5, 6, 7, 8, 6, 7, 8, 9])
})

test('results of one call must not share memory, also if it is the same', () => {
  const split = hostCall(kernels, 'split')
  const all = filled([16], (i) => i)
  const at = (start: number, end: number): Tensor => all.slice([start, end]) as Tensor
  for (const [first, second] of [
    [8, 8],
    [8, 6],
    [8, 9],
  ] as const) {
    const results = [at(first, first + 2), at(second, second + 3)]
    expect(() => split([at(0, 5)], { results })).toThrow(
      /^result 1 of split must not be in the memory of result 0 of split, got (4|8) common bytes/,
    )
  }
  split([at(0, 5)], { results: [at(8, 10), at(5, 8)] })
  expect(at(5, 10).toArray()).toEqual([2, 3, 4, 0, 1])
})

test('a result at the address of an operand of another size is refused', () => {
  const broadcast = customCall(kernels, 'broadcast_add')
  const all = filled([8], (i) => i)
  const [b, c] = [all.slice([0, 2]) as Tensor, all.slice([4, 8]) as Tensor]
  expect(() => broadcast([b, c], { results: [all.slice([0, 4]) as Tensor] })).toThrow(
    'result 0 of broadcast_add must not overlap a part of operand 0 of broadcast_add, got 8 common bytes',
  )
  broadcast([b, c], { results: [c] })
  expect(c.toArray()).toEqual([4, 6, 6, 8])
})

test('the error names the operand and the result of the signature', () => {
  const saxpy = targetCall(SAXPY, typedHandler(kernels, 'saxpy'))
  const at = memory()
  const error = (() => {
    try {
      saxpy(at(16) as never, at(40) as never, { a: 2 }, { into: at(20) } as never)
    } catch (thrown) {
      return thrown as ArgumentError
    }
    return undefined
  })()
  expect(error!.message).toMatch(/^z of saxpy must not overlap a part of x of saxpy, got 16 common bytes/)
  expect(error!.hint).toBe('Pass other memory for the result, or exactly that of the operand.')
})

test('empty tensors overlap nothing', () => {
  const all = filled([8], (i) => i)
  const empty = all.slice([4, 4]) as Tensor
  expect(listed([empty, empty], { results: [empty], attrs: { a } })).toBe(empty)
})

test('an operand that is copied into its layout may overlap a result', () => {
  const shape = { operands: [f32([2, 4]), f32([2, 4])], results: [f32([2, 4])], attrs: { a } }
  using call = typedHandler(kernels, 'saxpy').prepare({ ...shape, layouts: { operands: ['cm', undefined] } })
  const at = memory()
  const matrix = (start: number): Tensor => at(start).reshape([2, 4]) as Tensor
  call.run([matrix(16), matrix(40)], [matrix(20)])
  const columns = [16, 20, 17, 21, 18, 22, 19, 23]
  expect(at(20).toArray()).toEqual(columns.map((one, i) => 2 * one + 40 + i))
  expect(() => call.run([matrix(16), matrix(40)], [matrix(44)])).toThrow(/must not overlap a part of operand 1/)
})
