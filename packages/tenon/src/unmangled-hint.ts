/**
 * What to do if a library has a function of this name under the longer one that C++ made of it (Itanium's rule: the
 * name with its length before it, behind `_Z`), or nothing.
 */
export function unmangledHint(name: string, symbols: readonly string[]): string | undefined {
  const written = `${name.length}${name}`
  const changed = symbols.find((symbol) => {
    const at = symbol.indexOf(written)
    return symbol.startsWith('_Z') && at > 0 && !/\d/.test(symbol[at - 1]!)
  })
  return changed && `C++ changed its name to ${changed}: put extern "C" (TN_XLA_EXPORT) before it.`
}
