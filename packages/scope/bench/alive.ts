import type { AliveSuite } from '@tenon/bench'
import { MemorySegment, NativeScope, ResourceScope } from '@tenon/scope'
import { upcallStub } from '@tenon/scope/linker'

function end(scope: ResourceScope): void {
  scope.close()
}

const BYTES = 'np.empty(16, np.uint8)'

export const suite = {
  package: '@tenon/scope',
  rows: [
    {
      name: 'NativeScope with 16 bytes',
      target: { bytes: 2048 },
      numpy: { make: BYTES },
      setup: () => ({
        make: () => {
          const scope = NativeScope.ofConfined()
          scope.allocate(16)
          return scope
        },
        end,
      }),
    },
    {
      name: 'NativeScope with 4 KiB',
      numpy: { make: 'np.zeros(4096, np.uint8)' },
      setup: () => ({
        make: () => {
          const scope = NativeScope.ofConfined()
          scope.allocate(4096)
          return scope
        },
        end,
      }),
    },
    {
      // Memory on which a raw view exists must not be shared with other scopes.
      name: 'NativeScope with 16 bytes and a view',
      setup: () => ({
        make: () => {
          const scope = NativeScope.ofConfined()
          scope.allocate(16).unsafeView(Uint8Array)
          return scope
        },
        end,
      }),
    },
    {
      name: 'ResourceScope with 16 bytes',
      numpy: { make: BYTES },
      setup: () => ({
        make: () => {
          const scope = ResourceScope.ofConfined()
          MemorySegment.allocateNative(16, 8, scope)
          return scope
        },
        end,
      }),
    },
    {
      name: 'managed NativeScope with 16 bytes',
      setup: () => ({
        make: () => {
          const scope = NativeScope.ofConfined({ managed: true })
          scope.allocate(16)
          return scope
        },
        end,
      }),
    },
    {
      name: 'shared NativeScope with 16 bytes',
      setup: () => ({
        make: () => {
          const scope = NativeScope.ofShared()
          scope.allocate(16)
          return scope
        },
        end,
      }),
    },
    {
      name: 'shared ResourceScope, empty',
      setup: () => ({ make: () => ResourceScope.ofShared(), end }),
    },
    {
      name: 'segment in one NativeScope',
      setup: () => {
        const scope = NativeScope.ofConfined()
        return { make: () => scope.allocate(16) }
      },
    },
    {
      // A scope for each stub.
      name: 'upcall stub',
      // The process has addresses for about a million.
      most: 100_000,
      setup: () => {
        const signature = { result: 'int32', parameters: ['int32', 'int32'] } as const
        const add = (a: number, b: number): number => a + b
        return {
          make: () => {
            const scope = ResourceScope.ofConfined()
            upcallStub(add, signature, scope)
            return scope
          },
          end,
        }
      },
    },
  ],
} satisfies AliveSuite
