import type { KernelSignature } from '@tenon/core'

const LISTS = ['operands', 'results', 'temps', 'attributes', 'conditions'] as const

/** Whether a value is the signature of a kernel, as `defineTarget()` and `parseSignature()` return it. */
export function isSignature(value: unknown): value is KernelSignature {
  if (typeof value !== 'object' || value === null) return false
  return LISTS.every((list) => Array.isArray((value as Partial<KernelSignature>)[list]))
}
