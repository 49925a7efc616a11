import type { AliveSuite } from '@tenon/bench'
import { NativeLibrary, tensor } from '@tenon/core'
import { customCall, f32, targetCall, typedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'

const SIGNATURE = '(x: f32[..., d]) -> (y: f32[..., d]); eps: f32'
const SQRT = { make: 'np.sqrt(x)', setup: 'x = np.arange(1, 9, dtype=np.float32).reshape(2, 4)' }

export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: 'rmsNorm([x], ...), result allocated',
      target: { bytes: 400, ratio: { 'rmsNorm([x], ...), result given': 2.5 }, numpy: 1 },
      numpy: SQRT,
      setup: () => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const rmsNorm = customCall(library, 'rms_norm')
        const x = tensor('f32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8])
        return {
          make: () => rmsNorm([x], { results: [f32([2, 4])], attrs: { eps: f32(1e-5) } }),
          teardown: () => library.close(),
        }
      },
    },
    {
      name: 'rmsNorm([x], ...), result given',
      most: 1,
      numpy: { make: 'np.sqrt(x, out=y)', setup: `${SQRT.setup}; y = np.empty_like(x)` },
      setup: () => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const rmsNorm = customCall(library, 'rms_norm')
        const [x, y] = [tensor('f32', [2, 4]), tensor('f32', [2, 4])]
        return {
          make: () => rmsNorm([x], { results: [y], attrs: { eps: f32(1e-5) } }),
          teardown: () => library.close(),
        }
      },
    },
    {
      name: 'kernel with a signature, result allocated',
      target: { ratio: { 'kernel with a signature, result given': 2.5 } },
      numpy: SQRT,
      setup: () => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const kernel = targetCall(SIGNATURE, typedHandler(library, 'rms_norm'))
        const x = tensor('f32', [2, 4])
        return { make: () => kernel(x, { eps: 1e-5 }), teardown: () => library.close() }
      },
    },
    {
      name: 'kernel with a signature, result given',
      most: 1,
      setup: () => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const kernel = targetCall(SIGNATURE, typedHandler(library, 'rms_norm'))
        const [x, into] = [tensor('f32', [2, 4]), tensor('f32', [2, 4])]
        return { make: () => kernel(x, { eps: 1e-5 }, { into }), teardown: () => library.close() }
      },
    },
    {
      name: 'run() of a prepared call',
      most: 1,
      setup: () => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const [operands, results] = [[tensor('f32', [2, 4])], [tensor('f32', [2, 4])]]
        const call = typedHandler(library, 'rms_norm').prepare({ operands, results, attrs: { eps: f32(1e-5) } })
        return {
          make: () => call.run(operands, results),
          teardown: () => {
            call.close()
            library.close()
          },
        }
      },
    },
    {
      name: 'prepare()',
      target: { bytes: 2048 },
      setup: () => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const handler = typedHandler(library, 'rms_norm')
        const [operands, results] = [[tensor('f32', [2, 4])], [tensor('f32', [2, 4])]]
        return {
          make: () => handler.prepare({ operands, results, attrs: { eps: f32(1e-5) } }),
          end: (call: ReturnType<typeof handler.prepare>) => call.close(),
          teardown: () => library.close(),
        }
      },
    },
    {
      name: 'f32([2, 4])',
      setup: () => ({ make: () => f32([2, 4]) }),
    },
    {
      name: 'f32(1e-5)',
      setup: () => ({ make: () => f32(1e-5) }),
    },
  ],
} satisfies AliveSuite
