/** Follows Itanium's rule: `_Z`, and the name after its length. */
export function unmangledHint(name: string, symbols: readonly string[]): string | undefined {
  const written = `${name.length}${name}`
  const changed = symbols.find((symbol) => {
    const at = symbol.indexOf(written)
    return symbol.startsWith('_Z') && at > 0 && !/\d/.test(symbol[at - 1]!)
  })
  return changed && `Declare it extern "C" (TN_XLA_EXPORT), because C++ exports it as ${changed}.`
}
