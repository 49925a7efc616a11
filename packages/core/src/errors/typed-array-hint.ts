/** The hint for a typed array in the place of a tensor or of memory. Undefined for other values. */
export function typedArrayHint(value: unknown): string | undefined {
  if (!ArrayBuffer.isView(value) || value instanceof DataView) return undefined
  return 'Pass from(array), which is a tensor over the memory of the array.'
}
