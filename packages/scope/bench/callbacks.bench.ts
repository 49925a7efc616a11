import { addonFunction, KERNELS, ofNodeFfi, type Suite } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import { ResourceScope } from '@tenon/scope'
import { upcallStub } from '@tenon/scope/linker'
import koffi from 'koffi'

const kernels = NativeLibrary.open(KERNELS)
const rawKernels = koffi.load(KERNELS)

type Add = (a: number, b: number) => number

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      // One native call makes all calls of a batch.
      name: 'native code calls a stub with two int32',
      unit: 'ns',
      target: { 'Node-API addon': 1 },
      setup: () => {
        const scope = ResourceScope.ofConfined()
        const signature = { result: 'int32', parameters: ['int32', 'int32'] } as const
        const stub = upcallStub((a: number, b: number) => a + b, signature, scope)
        const ours = kernels.function('bench_repeat', { result: 'int32', parameters: ['pointer', 'int32'] })
        const addon = addonFunction<(run: Add, count: number) => number>('repeat', kernels.symbol('bench_repeat'))
        const type = koffi.pointer(koffi.proto('int32_t', ['int32_t', 'int32_t']))
        const registered = koffi.register((a: number, b: number) => a + b, type)
        const koffiCall = rawKernels.func('bench_repeat', 'int32_t', [type, 'int32_t'])
        return {
          ours: (iterations) => ours(stub, iterations),
          peers: {
            'Node-API addon': (iterations: number) => addon((a, b) => a + b, iterations),
            koffi: (iterations: number) => koffiCall(registered, iterations) as number,
            ...ofNodeFfi(KERNELS, (library) => {
              const call = library.getFunction('bench_repeat', {
                return: 'int32',
                arguments: ['pointer', 'int32'],
              }) as (run: bigint, count: number) => number
              const run = library.registerCallback(
                { return: 'int32', arguments: ['int32', 'int32'] },
                (a: number, b: number) => a + b,
              )
              return (iterations: number) => call(run, iterations)
            }),
          },
          teardown: () => {
            scope.close()
            koffi.unregister(registered)
          },
        }
      },
    },
  ],
} satisfies Suite
