import type { AliveSuite } from '@tenon/bench'
import { NativeLibrary, tensor } from '@tenon/core'
import { LIBC } from './libc.ts'

const X = 'x = np.arange(8, dtype=np.float32).reshape(2, 4)'
/** Memory of eight numbers, without Tenon. The engine moves it when it survives, as it moves tensors. */
const GROWTH = { growth: 'new Float32Array(8)' }
const EIGHT = [1, 2, 3, 4, 5, 6, 7, 8]

export const suite = {
  package: '@tenon/core',
  rows: [
    {
      name: "tensor('f32', [2, 4])",
      target: GROWTH,
      numpy: { make: 'np.empty((2, 4), np.float32)' },
      setup: () => ({ make: () => tensor('f32', [2, 4]) }),
    },
    {
      name: "tensor('f32', [2, 4], [1, 2, ...])",
      numpy: { make: 'np.array([1, 2, 3, 4, 5, 6, 7, 8], np.float32).reshape(2, 4)' },
      setup: () => ({ make: () => tensor('f32', [2, 4], EIGHT) }),
    },
    {
      name: 'tensor([[1, 2, 3]])',
      target: GROWTH,
      numpy: { make: 'np.array([[1, 2, 3]])' },
      setup: () => ({ make: () => tensor([[1, 2, 3]]) }),
    },
    {
      name: 'toArray() of 8 numbers',
      target: { growth: 'slice() of an array of 8 numbers' },
      numpy: { make: 'x.tolist()', setup: X },
      setup: () => {
        const x = tensor('f32', [2, 4], EIGHT)
        return { make: () => x.toArray() }
      },
    },
    {
      name: 'copy() of 8 numbers',
      target: GROWTH,
      numpy: { make: 'x.copy()', setup: X },
      setup: () => {
        const x = tensor('f32', [2, 4], EIGHT)
        return { make: () => x.copy() }
      },
    },
    {
      name: 'view() of one tensor',
      numpy: { make: 'memoryview(x)', setup: X },
      setup: () => {
        const x = tensor('f32', [2, 4], EIGHT)
        return { make: () => x.view() }
      },
    },
    {
      // Memory on which a raw view exists must not be shared with other tensors.
      name: 'tensor() and its view()',
      numpy: { make: 'memoryview(np.empty((2, 4), np.float32))' },
      setup: () => ({ make: () => tensor('f32', [2, 4]).view() }),
    },
    {
      name: 'slice(1) of a tensor',
      numpy: { make: 'x[1]', setup: X },
      setup: () => {
        const x = tensor('f32', [2, 4], EIGHT)
        return { make: () => x.slice(1) }
      },
    },
    {
      name: 'slice() of an array of 8 numbers',
      isPeer: true,
      setup: () => ({ make: () => EIGHT.slice() }),
    },
    {
      name: 'Buffer.allocUnsafe(32)',
      isPeer: true,
      setup: () => ({ make: () => Buffer.allocUnsafe(32) }),
    },
    {
      name: 'new Float32Array(8)',
      isPeer: true,
      setup: () => ({ make: () => new Float32Array(8) }),
    },
    {
      name: 'new ArrayBuffer(32)',
      isPeer: true,
      setup: () => ({ make: () => new ArrayBuffer(32) }),
    },
    {
      // The address is a bigint. The call is one of Tenon's own.
      name: 'malloc(32) and free()',
      isPeer: true,
      setup: () => {
        const libc = NativeLibrary.open(LIBC)
        const malloc = libc.function('malloc', { result: 'uint64', parameters: ['uint64'] })
        const free = libc.function('free', { parameters: ['uint64'] })
        return {
          make: () => malloc(32),
          end: (address: number | bigint) => free(address),
          teardown: () => libc.close(),
        }
      },
    },
  ],
} satisfies AliveSuite
