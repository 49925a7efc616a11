import { printAs } from '../print-as.ts'
import { ArenaScope } from './arena-scope.ts'
import { ConfinedNativeScope } from './confined-native-scope.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { SharedScope } from './shared-scope.ts'

/** A scope that is also an allocator. */
export type NativeScope = ConfinedNativeScope | SharedScope

/** The functions of {@link NativeScope}. */
export interface NativeScopes {
  /**
   * Opens an arena for this thread. It begins with 512 bytes, or with about the size of a larger first allocation, and goes on
   * with chunks of 4 KiB to 1 MiB. close() frees them together.
   *
   * @example
   * const scope = NativeScope.ofConfined()
   * const numbers = scope.allocate(1024, 64)
   * scope.close()
   */
  ofConfined(options?: ScopeOptions): ConfinedNativeScope
  /** Opens an arena over shared memory. */
  ofShared(options?: ScopeOptions): SharedScope
  [Symbol.hasInstance](value: unknown): boolean
}

/**
 * Opens scopes that are also allocators. Their memory is zeroed, and freed when they are closed.
 *
 * | scope          | closed by                    | memory                                   | usable in                  |
 * | -------------- | ---------------------------- | ---------------------------------------- | -------------------------- |
 * | `ofConfined()` | `close()`                    | 512 bytes, then chunks of 4 KiB to 1 MiB | the thread that opened it  |
 * | `ofShared()`   | `close()` of the last handle | shared memory                            | every thread that attaches |
 */
export const NativeScope: NativeScopes = printAs<NativeScopes>('NativeScope', {
  ofConfined: (options) => new ConfinedNativeScope(options),
  ofShared: (options) => SharedScope.open(options),
  [Symbol.hasInstance]: (value) => value instanceof ArenaScope,
})
