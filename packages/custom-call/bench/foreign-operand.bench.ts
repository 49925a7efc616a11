import type { Contestants, Row, Suite } from '@tenon/bench'
import { from, NativeLibrary, tensor, tensorSymbol, type TensorDescription, type TensorLike } from '@tenon/core'
import { targetCall, typedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'

const SIGNATURE = '(x: f32[..., d]) -> (y: f32[..., d]); eps: f32'

/** Makes an operand of four numbers. */
type Make = () => TensorLike

/** A library's class, whose method is made once. An object with a method of its own takes 300 ns to make, which is as long as reading it. */
class Matrix {
  readonly values = new Float32Array(4);

  [tensorSymbol](): TensorDescription<'float32'> {
    return { version: 1, dtype: 'float32', shape: [4], buffer: this.values.buffer }
  }
}

/** Objects of other libraries, by their structure. */
const structures: Readonly<Record<string, Make>> = {
  'a TypedArray': () => new Float32Array(4),
  '{ data, dims }': () => ({ data: new Float32Array(4), dims: [4] }),
  'an ndarray': () => ({ data: new Float32Array(4), shape: [4], stride: [1], offset: 0 }),
  'an object with the protocol': () => new Matrix(),
}

/** Calls a kernel with an operand of another library, and with one of Tenon. @param next returns the operand of a call */
function row(name: string, make: Make, next: (make: Make) => Make): Row {
  return {
    name,
    unit: 'ns',
    setup: (): Contestants => {
      const library = NativeLibrary.open(kernelLibrary('kernels'))
      const [kernel, other] = [0, 1].map(() => targetCall(SIGNATURE, typedHandler(library, 'rms_norm')))
      const operand = next(make)
      const own = next(() => from(new Float32Array(4)))
      const options = { into: tensor('f32', [4]) }
      const attributes = { eps: 1e-5 }
      return {
        ours: () => kernel!(operand(), attributes, options),
        peers: { 'tensor of Tenon': () => other!(own(), attributes, options) },
        teardown: () => library.close(),
      }
    },
  }
}

const again = (make: Make): Make => {
  const made = make()
  return () => made
}

export const suite = {
  package: '@tenon/custom-call',
  rows: Object.entries(structures).flatMap(([structure, make]) => [
    row(`kernel with ${structure}, the same again`, make, again),
    row(`kernel with ${structure}, a new one in each call (from() of a new array)`, make, (each) => each),
  ]),
} satisfies Suite
