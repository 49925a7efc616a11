import { addonFunction, KERNELS, ofNodeFfi, type Suite } from '@tenon/bench'
import { gcAllocator, NativeLibrary } from '@tenon/core'
import { Callback, makeStub } from '@tenon/core/internal'
import koffi from 'koffi'
import { LIBC } from './libc.ts'

const libc = NativeLibrary.open(LIBC)
const raw = koffi.load(LIBC)
const kernels = NativeLibrary.open(KERNELS)
const rawKernels = koffi.load(KERNELS)

/** The numbers that are sorted, again and again: sorting what is sorted makes the same number of comparisons. */
const NUMBERS = Int32Array.from({ length: 64 }, (_, i) => i)

export const suite = {
  package: '@tenon/core',
  rows: [
    {
      // One native call makes all calls of a batch.
      name: 'native code calls a function with two int32',
      unit: 'ns',
      target: { 'Node-API addon': 1 },
      setup: () => {
        const stub = makeStub(
          { result: 'int32', parameters: ['int32', 'int32'] },
          (a: number, b: number) => a + b,
          {},
          'the result',
        )
        const ours = kernels.function('bench_repeat', { result: 'int32', parameters: ['uint64', 'int32'] })
        const addon = addonFunction<Repeat>('repeat', kernels.symbol('bench_repeat'))
        const type = koffi.pointer(koffi.proto('int32_t', ['int32_t', 'int32_t']))
        const registered = koffi.register((a: number, b: number) => a + b, type)
        const koffiCall = rawKernels.func('bench_repeat', 'int32_t', [type, 'int32_t'])
        return {
          ours: (iterations) => ours(stub.address, iterations),
          peers: {
            'Node-API addon': (iterations: number) => addon((a, b) => a + b, iterations),
            koffi: (iterations: number) => koffiCall(registered, iterations) as number,
            ...ofNodeFfi(KERNELS, (library) => {
              const signature = { return: 'int32', arguments: ['pointer', 'int32'] }
              const call = library.getFunction('bench_repeat', signature) as (run: bigint, count: number) => number
              const run = library.registerCallback(
                { return: 'int32', arguments: ['int32', 'int32'] },
                (a: number, b: number) => a + b,
              )
              return (iterations: number) => call(run, iterations)
            }),
          },
          teardown: () => {
            stub.close()
            koffi.unregister(registered)
          },
        }
      },
    },
    {
      // The native function that a program calls for each element: the price of one call and one callback.
      name: 'call a function that calls back once',
      unit: 'ns',
      setup: () => {
        const stub = makeStub(
          { result: 'int32', parameters: ['int32', 'int32'] },
          (a: number, b: number) => a - b,
          {},
          'the result',
        )
        const ours = kernels.function('bench_repeat', { result: 'int32', parameters: ['uint64', 'int32'] })
        const addon = addonFunction<Repeat>('repeat', kernels.symbol('bench_repeat'))
        const run = (a: number, b: number): number => a - b
        const type = koffi.pointer(koffi.proto('int32_t', ['int32_t', 'int32_t']))
        const registered = koffi.register((a: number, b: number) => a - b, type)
        const koffiCall = rawKernels.func('bench_repeat', 'int32_t', [type, 'int32_t'])
        return {
          ours: () => ours(stub.address, 1),
          peers: { 'Node-API addon': () => addon(run, 1), koffi: () => koffiCall(registered, 1) },
          teardown: () => {
            stub.close()
            koffi.unregister(registered)
          },
        }
      },
    },
    {
      // Each contestant does the same comparisons, with the numbers that its way of reading memory gives it.
      name: 'qsort() of 64 int32 by a function',
      unit: 'ns',
      setup: () => {
        const memory = gcAllocator.allocate(NUMBERS.byteLength)
        memory.block.bytes.set(Buffer.from(NUMBERS.buffer), memory.base)
        const stub = makeStub(
          { result: 'int32', parameters: ['pointer', 'pointer'] },
          (a: number, b: number) => a - b,
          {},
          'the result',
        )
        const signature = { parameters: ['pointer', 'uint64', 'uint64', 'uint64'] } as const
        const ours = libc.function('qsort', signature)
        const addon = addonFunction<(memory: Buffer, compare: Compare) => void>('sort', libc.symbol('qsort'))
        const buffer = Buffer.from(NUMBERS.slice().buffer)
        const type = koffi.pointer(koffi.proto('int', ['uintptr_t', 'uintptr_t']))
        const registered = koffi.register((a: number, b: number) => a - b, type)
        const koffiCall = raw.func('qsort', 'void', ['void *', 'size_t', 'size_t', type])
        return {
          ours: () => ours(memory, 64, 4, stub.address),
          peers: {
            'Node-API addon': () => addon(buffer, (a, b) => a - b),
            koffi: () => koffiCall(buffer, 64, 4, registered),
          },
          teardown: () => {
            stub.close()
            koffi.unregister(registered)
          },
        }
      },
    },
    {
      name: 'make and release a callback',
      unit: 'ns',
      setup: () => {
        const type = koffi.pointer(koffi.proto('int32_t', ['int64_t', 'uintptr_t', 'uintptr_t']))
        const run = (): void => {}
        const answer = (): number => 1
        return {
          ours: () => new Callback(run).release(),
          peers: { 'koffi.register': () => koffi.unregister(koffi.register(answer, type)) },
        }
      },
    },
  ],
} satisfies Suite

type Compare = (a: number, b: number) => number
type Repeat = (run: Compare, count: number) => number
