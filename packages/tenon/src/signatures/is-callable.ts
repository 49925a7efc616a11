import type { KernelSignature } from '@tenon/core'

/**
 * Whether a signature has the names and types of a call. The text of an author has them, even if it leaves sizes of results to the
 * caller.
 */
export const isCallable = ({ source, isComplete }: KernelSignature): boolean =>
  isComplete || source === 'library' || source === 'sidecar'
