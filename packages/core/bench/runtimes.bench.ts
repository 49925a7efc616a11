/** Calls beside the FFI of the runtime, without koffi, which does not run in Bun: `pnpm bench --runtime bun <this file>`. */
import { KERNELS, ofRuntimeFfi, type Suite } from '@tenon/bench'
import { gcAllocator, NativeLibrary } from '@tenon/core'
import { makeStub } from '@tenon/core/internal'

import { addonCall, fixture, FIXTURE } from './fixture.ts'

const kernels = NativeLibrary.open(KERNELS)
const INT32 = { result: 'int32', parameters: ['int32'] } as const
const WORDS = Int32Array.of(1, 2, 3, 4)
const SUM = { result: 'int32', parameters: ['pointer', 'int64'] } as const

export const suite = {
  package: '@tenon/core',
  rows: [
    {
      name: 'in any runtime: pass int32',
      unit: 'ns',
      setup: () => {
        const ours = fixture.function('fixture_int32', INT32)
        const addon = addonCall<(value: number) => number>('int32', 'fixture_int32')
        return {
          ours: () => ours(-7),
          peers: {
            'Node-API addon': () => addon(-7),
            ...ofRuntimeFfi(
              FIXTURE,
              { symbol: 'fixture_int32', ...INT32 },
              ({ call }) =>
                () =>
                  call(-7),
            ),
          },
        }
      },
    },
    {
      name: 'in any runtime: pass int32 to a critical function',
      unit: 'ns',
      setup: () => {
        const ours = fixture.function('fixture_int32', INT32, { critical: true })
        const addon = addonCall<(value: number) => number>('int32', 'fixture_int32')
        return {
          ours: () => ours(-8),
          peers: {
            'Node-API addon': () => addon(-8),
            ...ofRuntimeFfi(
              FIXTURE,
              { symbol: 'fixture_int32', ...INT32 },
              ({ call }) =>
                () =>
                  call(-8),
            ),
          },
        }
      },
    },
    {
      name: 'in any runtime: pass 16 bytes and their size',
      unit: 'ns',
      setup: () => {
        const memory = gcAllocator.allocate(16)
        memory.block.bytes.set(new Uint8Array(WORDS.buffer), memory.base)
        const ours = kernels.function('bench_sum', SUM)
        const bytes = Buffer.from(WORDS.buffer)
        const addon = addonCall<(bytes: Buffer, size: number) => number>('bufferAndLength', 'bench_sum', kernels)
        if (ours(memory, 16) !== 10 || addon(bytes, 16) !== 10) throw new Error('the sum must be 10')
        return {
          ours: () => ours(memory, 16),
          peers: {
            'Node-API addon': () => addon(bytes, 16),
            ...ofRuntimeFfi(
              KERNELS,
              { symbol: 'bench_sum', result: 'int32', parameters: ['buffer', 'int64'] },
              ({ call }) =>
                () =>
                  call(bytes, 16),
            ),
          },
        }
      },
    },
    {
      // One native call makes all calls of a batch.
      name: 'in any runtime: native code calls a function with two int32',
      unit: 'ns',
      setup: () => {
        const type = { result: 'int32', parameters: ['int32', 'int32'] } as const
        const stub = makeStub(type, (a: number, b: number) => a + b, {}, 'the result')
        const ours = kernels.function('bench_repeat', { result: 'int32', parameters: ['uint64', 'int32'] })
        const addon = addonCall<(run: (a: number, b: number) => number, count: number) => number>(
          'repeat',
          'bench_repeat',
          kernels,
        )
        return {
          ours: (iterations) => ours(stub.address, iterations),
          peers: {
            'Node-API addon': (iterations: number) => addon((a, b) => a + b, iterations),
            ...ofRuntimeFfi(
              KERNELS,
              { symbol: 'bench_repeat', result: 'int32', parameters: ['function', 'int32'] },
              ({ call, callback }) => {
                const run = callback('int32', ['int32', 'int32'], (a: number, b: number) => a + b)
                return (iterations: number) => call(run, iterations)
              },
            ),
          },
          teardown: () => stub.close(),
        }
      },
    },
  ],
} satisfies Suite
