import type { Contestants, Suite } from '@tenon/bench'
import { NativeLibrary, tensor } from '@tenon/core'
import { hostFunction } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import koffi from 'koffi'

const IN_FLIGHT = 128

export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: `${IN_FLIGHT} asynchronous calls in flight`,
      unit: 'ns',
      target: { 'koffi .async': 0.25 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))
        const tensors = Array.from({ length: IN_FLIGHT }, () => tensor('s32', [4]))
        const lists = tensors.map((one) => [one])
        const call = hostFunction(library, 'increment').prepare({ operands: lists[0]!, results: lists[0]! })
        const raw = koffi.load(kernelLibrary('kernels_runtime')).func('increment', 'void', ['uintptr_t', 'uintptr_t'])
        const pointers = tensors.map(({ address }) => new BigUint64Array([BigInt(address)]))
        const places = pointers.map((pointer) => Number(koffi.address(pointer)))
        const runRaw = (i: number): Promise<void> =>
          new Promise((resolve, reject) => {
            raw.async(tensors[i]!.address, places[i], (error: Error | null) =>
              error === null ? resolve() : reject(error),
            )
          })
        return {
          ours: async () => {
            await Promise.all(lists.map((list) => call.runAsync(list, list)))
          },
          peers: {
            'koffi .async': async () => {
              await Promise.all(places.map((_, i) => runRaw(i)))
            },
          },
          teardown: () => {
            call.close()
            library.close()
            for (const pointer of pointers) pointer.fill(0n)
          },
        }
      },
    },
  ],
} satisfies Suite
