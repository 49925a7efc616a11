import type { Suite } from '@tenon/bench'
import { gcAllocator } from '@tenon/core'
import { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
import koffi from 'koffi'
import { inScopes, MANY } from './support.ts'

const libc = koffi.load(process.platform === 'win32' ? 'msvcrt.dll' : null)
const malloc = libc.func('malloc', 'uintptr_t', ['size_t'])
/** The usual declaration. The form above is the fastest one of koffi. */
const pointerMalloc = libc.func('malloc', 'void *', ['size_t'])
const pointerFree = libc.func('free', 'void', ['void *'])
const calloc = libc.func('calloc', 'uintptr_t', ['size_t', 'size_t'])
const free = libc.func('free', 'void', ['uintptr_t'])

/** The number of scopes that are open at once. */
const ALIVE = 10_000

function opened(): ReturnType<typeof NativeScope.ofConfined> {
  const scope = NativeScope.ofConfined()
  scope.allocate(16)
  return scope
}

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'allocate 64 B without a scope',
      unit: 'ns',
      target: { gcAllocator: 2 },
      setup: () => ({
        ours: () => MemorySegment.allocateNative(64),
        peers: { gcAllocator: () => gcAllocator.allocate(64) },
      }),
    },
    {
      name: `allocate 16 B, ${MANY} in a scope`,
      unit: 'ns',
      target: { 'Buffer.allocUnsafe': 0.6, 'malloc + free': 0.25 },
      setup: () => {
        const last: unknown[] = [undefined]
        return {
          // Stored, because the harness stores the results of the other rows.
          ours: inScopes((scope) => {
            last[0] = scope.allocate(16)
          }),
          peers: {
            'Buffer.allocUnsafe': () => Buffer.allocUnsafe(16),
            'new Uint8Array': () => new Uint8Array(16),
            'malloc + free': () => free(malloc(16)),
          },
        }
      },
    },
    {
      name: `allocate 64 B, ${MANY} in a scope`,
      unit: 'ns',
      target: { 'Buffer.allocUnsafe': 0.6, 'malloc + free': 0.25 },
      setup: () => {
        const last: unknown[] = [undefined]
        return {
          // Stored, because the harness stores the results of the other rows.
          ours: inScopes((scope) => {
            last[0] = scope.allocate(64)
          }),
          peers: {
            'Buffer.allocUnsafe': () => Buffer.allocUnsafe(64),
            'new Uint8Array': () => new Uint8Array(64),
            'malloc + free': () => free(malloc(64)),
          },
        }
      },
    },
    {
      name: 'open, allocate 16 B, close',
      unit: 'ns',
      target: { 'malloc + free': 0.8 },
      setup: () => ({
        ours: () => {
          const scope = NativeScope.ofConfined()
          const segment = scope.allocate(16)
          scope.close()
          return segment
        },
        peers: {
          'malloc + free': () => pointerFree(pointerMalloc(16)),
          'malloc + free, as numbers': () => free(malloc(16)),
          'koffi.alloc + koffi.free': () => koffi.free(koffi.alloc('char', 16)),
        },
      }),
    },
    {
      name: `open, allocate 16 B, close the oldest of ${ALIVE}`,
      unit: 'ns',
      target: { 'malloc + free': 5 },
      setup: () => {
        const scopes = Array.from({ length: ALIVE }, opened)
        const addresses: unknown[] = scopes.map(() => pointerMalloc(16))
        let oldest = 0
        let first = 0
        return {
          ours: () => {
            scopes[oldest]!.close()
            const scope = opened()
            scopes[oldest] = scope
            oldest = oldest === ALIVE - 1 ? 0 : oldest + 1
            return scope
          },
          peers: {
            'malloc + free': () => {
              pointerFree(addresses[first])
              const address: unknown = pointerMalloc(16)
              addresses[first] = address
              first = first === ALIVE - 1 ? 0 : first + 1
              return address
            },
          },
          teardown: () => {
            for (const scope of scopes) scope.close()
            for (const address of addresses) pointerFree(address)
          },
        }
      },
    },
    {
      name: 'open a shared scope, allocate 16 B, close',
      unit: 'ns',
      target: { 'new SharedArrayBuffer': 3 },
      setup: () => ({
        ours: () => {
          const scope = NativeScope.ofShared()
          const segment = scope.allocate(16)
          scope.close()
          return segment
        },
        peers: { 'new SharedArrayBuffer': () => new SharedArrayBuffer(512) },
      }),
    },
    {
      name: 'open, allocate 1 KiB, close',
      unit: 'ns',
      target: { 'calloc + free': 1.2 },
      setup: () => ({
        ours: () => {
          const scope = NativeScope.ofConfined()
          const segment = scope.allocate(1024)
          scope.close()
          return segment
        },
        peers: {
          'calloc + free': () => free(calloc(1024, 1)),
          'Buffer.alloc': () => Buffer.alloc(1024),
        },
      }),
    },
    {
      name: 'open and close an empty scope',
      unit: 'ns',
      setup: () => ({
        ours: () => {
          const scope = ResourceScope.ofConfined()
          scope.close()
          return scope
        },
        peers: {
          'try and finally': () => {
            const scope = { open: true }
            try {
              return scope
            } finally {
              scope.open = false
            }
          },
        },
      }),
    },
    {
      name: 'scope with a close action',
      unit: 'ns',
      setup: () => {
        const counts = { ours: 0, raw: 0 }
        const action = (): void => {
          counts.ours++
        }
        return {
          ours: () => {
            const scope = ResourceScope.ofConfined()
            scope.addCloseAction(action)
            scope.close()
            return counts
          },
          peers: {
            'an array of functions': () => {
              const actions: (() => void)[] = []
              actions.push(() => {
                counts.raw++
              })
              for (let i = actions.length - 1; i >= 0; i--) actions[i]!()
              return counts
            },
          },
        }
      },
    },
  ],
} satisfies Suite
