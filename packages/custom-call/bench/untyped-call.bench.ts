import type { Contestants, Suite } from '@tenon/bench'
import { NativeLibrary, tensor } from '@tenon/core'
import { ApiVersion, FunctionTarget, hostFunction } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import koffi from 'koffi'
import { customCallAddon } from './addon.ts'

export const suite = {
  package: '@tenon/custom-call',
  rows: [
    {
      name: 'untyped Host call, bound',
      unit: 'ns',
      target: { 'raw koffi': 1.3 },
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))
        const both = [tensor('s32', [4])]
        const call = hostFunction(library, 'increment').prepare({ operands: both, results: both })
        const bound = call.bind(both, both)
        const raw = koffi.load(kernelLibrary('kernels_runtime')).func('increment', 'void', ['uintptr_t', 'uintptr_t'])
        const pointers = new BigUint64Array([BigInt(both[0]!.address)])
        const [out, at] = [both[0]!.address, Number(koffi.address(pointers))]
        const addon = customCallAddon()
        const numbers = new Int32Array(4)
        addon.bindHost(Number(library.symbol('increment')), numbers)
        return {
          ours: () => bound.run(),
          peers: { 'raw koffi': () => raw(out, at), 'Node-API addon': () => addon.runHost() },
          teardown: () => {
            bound.close()
            call.close()
            library.close()
            pointers.fill(0n)
            numbers.fill(0)
          },
        }
      },
    },
    {
      name: 'untyped Host call with a status, 2 operands patched',
      unit: 'ns',
      setup: (): Contestants => {
        const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))
        const options = { apiVersion: ApiVersion.STATUS_RETURNING } as const
        const [operands, results] = [[tensor('s32', [], [1]), tensor('s32', [], [2])], [tensor('s32', [])]]
        const call = hostFunction(library, 'checked_add', options).prepare({ operands, results })
        const bound = call.bind(operands, results)
        return {
          ours: () => call.run(operands, results),
          peers: { bound: () => bound.run() },
          teardown: () => {
            bound.close()
            call.close()
            library.close()
          },
        }
      },
    },
    {
      name: 'TypeScript target, bound',
      unit: 'ns',
      target: { 'bare koffi callback': 1.5 },
      setup: (): Contestants => {
        let calls = 0
        const target = FunctionTarget.open('count', '(x: s32[4]) -> (y: s32[4])', () => {
          calls++
        })
        const tensors = [tensor('s32', [4])]
        const call = target.handler.prepare({ operands: tensors, results: tensors })
        const bound = call.bind(tensors, tensors)
        const type = koffi.proto('uintptr_t', ['uintptr_t'])
        const count = (): number => {
          calls++
          return 0
        }
        const callback = koffi.register(count, koffi.pointer(type))
        const raw = koffi.decode(callback, type) as (frame: number) => number
        const addon = customCallAddon()
        addon.setTarget(() => {
          calls++
          return 0
        })
        return {
          ours: () => bound.run(),
          peers: { 'bare koffi callback': () => raw(0), 'Node-API addon': () => addon.callTarget() },
          teardown: () => {
            if (calls === 0) throw new Error('nothing was called')
            bound.close()
            call.close()
            target.close()
            koffi.unregister(callback)
          },
        }
      },
    },
  ],
} satisfies Suite
