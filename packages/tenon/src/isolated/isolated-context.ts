import type { Gate } from '@tenon/core/internal'
import type { SharedMemory } from '@tenon/pools'
import type { Workers } from '@tenon/isolate/internal'

/** What the kernels of an isolated library share. */
export interface IsolatedContext {
  /** The absolute path of the library. */
  readonly path: string
  readonly workers: Workers
  /** Where operands are copied to, and results lie. */
  readonly memory: SharedMemory
  /** The gate of the library. */
  readonly gate: Gate
  /** Whether packed functions may call functions of this process. */
  readonly isRelaying: boolean
}
