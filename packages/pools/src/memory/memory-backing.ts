import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/** The place of shared memory: sealed memory without a name, or a file in `/dev/shm`. */
export type MemoryBacking = 'memfd' | 'shm'

export function checkBacking(value: unknown): MemoryBacking {
  if (value === 'memfd' || value === 'shm') return value
  throw new ArgumentError(`backing must be 'memfd' or 'shm', got ${describe(value)}`)
}
