import type { Suite } from '@tenon/bench'
import { Callback, coreFunctions, functionAt } from '@tenon/core/internal'
import koffi from 'koffi'

export const suite = {
  package: '@tenon/core',
  rows: [
    {
      name: 'call TypeScript from native code',
      unit: 'ns',
      target: { 'koffi.register': 1.6 },
      setup: () => {
        const calls = { ours: 0, raw: 0 }
        const callback = new Callback(() => {
          calls.ours++
        })
        const { tn_callback_invoke: invoke } = coreFunctions()
        const type = koffi.proto('int32_t', ['int64_t', 'uintptr_t', 'uintptr_t'])
        const registered = koffi.register(() => {
          calls.raw++
          return 1
        }, koffi.pointer(type))
        const call = functionAt(Number(registered), 'int32', ['int64', 'uint64', 'uint64'])
        return {
          ours: () => invoke(callback.address, 0, 0),
          peers: { 'koffi.register': () => call(1, 0, 0) },
          teardown: () => {
            callback.release()
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
