import type { ScopeOptions } from './confined-scope.ts'
import { ConfinedNativeScope } from './native-scope.ts'

/** A scope that is an allocator as well. */
export type NativeScope = ConfinedNativeScope

/** Opens scopes that are allocators as well. */
export const NativeScope: { ofConfined(options?: ScopeOptions): ConfinedNativeScope } = {
  /**
   * An arena of this thread: memory is handed out from chunks of 64 KiB up to 1 MiB, and freed at once at close.
   *
   * @example
   * const scope = NativeScope.ofConfined()
   * const numbers = scope.allocate(1024, 64)
   * scope.close()
   */
  ofConfined(options?: ScopeOptions): ConfinedNativeScope {
    return new ConfinedNativeScope(options?.name)
  },
}
