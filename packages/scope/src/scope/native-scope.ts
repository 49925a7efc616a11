import { ArenaScope } from './arena-scope.ts'
import { ConfinedNativeScope } from './confined-native-scope.ts'
import type { ScopeOptions } from './managed-scope.ts'
import { SharedScope } from './shared-scope.ts'

/** A scope that is an allocator as well. */
export type NativeScope = ConfinedNativeScope | SharedScope

/** Opens scopes that are allocators as well. */
interface NativeScopes {
  /**
   * An arena of this thread: memory is handed out from chunks of 64 KiB up to 1 MiB, and freed at once at close.
   *
   * @example
   * const scope = NativeScope.ofConfined()
   * const numbers = scope.allocate(1024, 64)
   * scope.close()
   */
  ofConfined(options?: ScopeOptions): ConfinedNativeScope
  /** An arena over shared memory. */
  ofShared(options?: ScopeOptions): SharedScope
  [Symbol.hasInstance](value: unknown): boolean
}

/** Opens scopes that are allocators as well. Their memory is zeroed, and freed when they are closed. */
export const NativeScope: NativeScopes = {
  ofConfined: (options) => new ConfinedNativeScope(options),
  ofShared: (options) => SharedScope.open(options),
  [Symbol.hasInstance]: (value) => value instanceof ArenaScope,
}
