import type { KernelSignature } from './kernel-signature.ts'

const LISTS = ['operands', 'results', 'temps', 'attributes', 'conditions'] as const

/** Whether a value has the form of a signature, as `parseSignature()` returns it. */
export function isSignature(value: unknown): value is KernelSignature {
  if (typeof value !== 'object' || value === null) return false
  return LISTS.every((list) => Array.isArray((value as Partial<KernelSignature>)[list]))
}
