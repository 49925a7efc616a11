import { tensor } from '@tenon/core'
import { defineModel, type Model } from '../src/index.ts'

/** A version of a model that doubles a matrix with rows of 4. */
export function newDouble(version: string): Model {
  return defineModel({
    name: 'double',
    version,
    signature: '(x: f32[rows, 4]) -> (y: f32[rows, 4])',
    run: ({ x }) =>
      tensor(
        'f32',
        x.shape,
        x.toArray().map((value) => 2 * value),
      ),
  })
}

export const double: Model = newDouble('1')

/** Returns its input, for one element type. */
export function echo(dtype: string, name: string = `echo_${dtype}`): Model {
  return defineModel({ name, signature: `(x: ${dtype}[n]) -> (y: ${dtype}[n])`, run: ({ x }) => x })
}

/** The model `slow`, which returns its input when the test lets it finish. */
export function heldModel(): { readonly model: Model; readonly begun: Promise<void>; finish(): void } {
  let [begin, finish] = [(): void => {}, (): void => {}]
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const model = defineModel({
    name: 'slow',
    signature: '(x: f32[n]) -> (y: f32[n])',
    run: async ({ x }) => {
      begin()
      await finished
      return x
    },
  })
  return { model, begun, finish }
}
