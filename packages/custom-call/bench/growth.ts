import type { GrowthSuite } from '@tenon/bench'
import { NativeLibrary, tensor } from '@tenon/core'
import { customCall, f32, hostFunction, targetCall, typedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'

export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: 'buffers of a prepared call',
      counts: [1, 10, 100, 1000],
      open: (count) => {
        const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))
        // The function reads its first operand and ignores the others.
        const operands = Array.from({ length: count }, () => tensor('s32', [4]))
        const results = [tensor('s32', [4])]
        const call = hostFunction(library, 'increment').prepare({ operands, results })
        return {
          run: () => call.run(operands, results),
          close: () => {
            call.close()
            library.close()
          },
        }
      },
    },
    {
      name: 'shapes of a call as a function, in turn',
      counts: [10, 100, 1000],
      open: (count) => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const call = customCall(library, 'rms_norm')
        const attrs = { eps: f32(1e-5) }
        // Tensors without elements, so that the kernel does the same work for each shape: none.
        const shapes = Array.from({ length: count }, (_, i) => [tensor('f32', [i + 1, 0]), tensor('f32', [i + 1, 0])])
        return {
          run: () => {
            for (const [x, y] of shapes) call([x!], { results: [y!], attrs })
          },
          close: () => library.close(),
        }
      },
    },
    {
      name: 'new shapes of a kernel with a signature, with their operands',
      counts: [10, 100, 1000],
      open: (count) => {
        const library = NativeLibrary.open(kernelLibrary('kernels'))
        const kernel = targetCall('(x: f32[..., d]) -> (y: f32[..., d]); eps: f32', typedHandler(library, 'rms_norm'))
        let rows = 0
        return {
          run: () => {
            for (let i = 0; i < count; i++) kernel(tensor('f32', [++rows, 0]), { eps: 1e-5 })
          },
          close: () => library.close(),
        }
      },
    },
  ],
} satisfies GrowthSuite
