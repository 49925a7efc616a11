import type { Contestants, Suite } from '@tenon/bench'
import { NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { customCall, defineTarget, f32, targetCall, typedHandler, type CustomCall } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'

const eps = f32(1e-5)
const SIGNATURE = '(x: f32[..., d]) -> (y: f32[..., d]); eps: f32'

/** The tensors of calls with different shapes. */
interface Shapes {
  readonly operands: readonly Tensor[]
  readonly results: readonly Tensor[]
}

function makeShapes(count: number): Shapes {
  const make = (): Tensor[] => Array.from({ length: count }, (_, i) => tensor('f32', [i + 1, 4]))
  return { operands: make(), results: make() }
}

/** Returns a function that calls the kernel with the shapes in turn. */
function inTurn(rmsNorm: CustomCall, { operands, results }: Shapes): () => void {
  const { length } = operands
  let next = 0
  return () => {
    rmsNorm([operands[next]!], { results: [results[next]!], attrs: { eps } })
    next = next + 1 === length ? 0 : next + 1
  }
}

const turns = (count: number): Suite['rows'][number] => ({
  name: `call as a function, ${count} shapes in turn`,
  unit: 'ns',
  // More shapes than frames are prepared anew.
  ...(count <= 8 ? { target: { 'one shape': 1.3 } } : {}),
  setup: (): Contestants => {
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    return {
      ours: inTurn(customCall(library, 'rms_norm'), makeShapes(count)),
      peers: { 'one shape': inTurn(customCall(library, 'rms_norm'), makeShapes(1)) },
      teardown: () => library.close(),
    }
  },
})

export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: 'call as a function, one shape',
      unit: 'ns',
      target: { 'prepared call': 1.5 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const { operands, results } = makeShapes(1)
        const call = typedHandler(library, 'rms_norm').prepare({ operands, results, attrs: { eps } })
        return {
          ours: inTurn(customCall(library, 'rms_norm'), { operands, results }),
          peers: { 'prepared call': () => call.run(operands, results) },
          teardown: () => {
            call.close()
            library.close()
          },
        }
      },
    },
    ...[2, 4, 8, 9, 16].map(turns),
    {
      name: 'kernel with a signature, result given',
      unit: 'ns',
      target: { 'customCall()': 1.3 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const kernel = targetCall(defineTarget('rms_norm', SIGNATURE), typedHandler(library, 'rms_norm'))
        const { operands, results } = makeShapes(1)
        const [x, into] = [operands[0]!, results[0]!]
        return {
          ours: () => kernel(x, { eps: 1e-5 }, { into }),
          peers: { 'customCall()': inTurn(customCall(library, 'rms_norm'), { operands, results }) },
          teardown: () => library.close(),
        }
      },
    },
  ],
} satisfies Suite
