/** Returns strings as nested arrays; a scalar is a single string. */
export function nestStrings(texts: readonly string[], shape: readonly number[]): unknown {
  let nested: readonly unknown[] = texts
  for (const size of shape.slice(1).toReversed()) {
    const rows = size === 0 ? 0 : nested.length / size
    const level = nested
    nested = Array.from({ length: rows }, (_, i) => level.slice(i * size, (i + 1) * size))
  }
  return shape.length === 0 ? nested[0] : nested
}
