import { tensor, type Tensor } from '@tenon/core'
import fc from 'fast-check'
import { expect } from 'vitest'

/** The signature of a kernel that writes the types of its buffers as text. The sizes of the results follow from the operands. */
export const TEXT = '(x: f32[a, b], w: s32[...batch, b]) -> (y: f32[b, a], z: f32[...batch, 2*a + b], text: u8[200])'

/** The sizes of one call. */
export interface Shapes {
  readonly a: number
  readonly b: number
  readonly batch: readonly number[]
}

/** Random sizes with 0 to 3 axes of `batch`. */
export const shapesIn = (most: number): fc.Arbitrary<Shapes> => {
  const size = fc.integer({ min: 0, max: most })
  return fc.record({ a: size, b: size, batch: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }) })
}

/** Makes the operands of a call. */
export const makeShapes = ({ a, b, batch }: Shapes): [x: Tensor<'float32'>, w: Tensor<'int32'>] => [
  tensor('f32', [a, b]),
  tensor('s32', [...batch, b]),
]

/** Checks the text of a call, and the shapes of its results. */
export function expectSeen(
  { a, b, batch }: Shapes,
  { y, z, text }: { readonly y: Tensor; readonly z: Tensor; readonly text: Tensor },
): void {
  const seen = Buffer.from(text.view() as Uint8Array).toString()
  const last = [...batch, 2 * a + b]
  const expected = `F32[${a},${b}] S32[${[...batch, b].join()}] -> F32[${b},${a}] F32[${last.join()}] U8[200]`
  expect(seen.slice(0, seen.indexOf('\0'))).toBe(expected)
  expect([y.type.shape, z.type.shape]).toStrictEqual([[b, a], last])
}
