import { existsSync } from 'node:fs'
import { readBinary } from '@tenon/binary'
import { LoadError } from '../errors/kinds.ts'
import { didYouMean } from '../errors/suggest.ts'

/** The error for a symbol that a library does not export. The hint names similar exports, if the file of the library is known. */
export function missingSymbol(path: string, name: string): LoadError {
  const names = exportsOf(path)
  return new LoadError(`the library ${path} does not export a symbol named ${JSON.stringify(name)}`, {
    hint:
      unmangledHint(name, names) ??
      didYouMean(name, names) ??
      'Build it with default visibility, and declare C++ functions extern "C" so that their names are kept.',
    details: { path, symbol: name },
  })
}

/** The exported names, without the marks of tenon/xla_mark.h. Empty for a library that the loader found by a bare name. */
function exportsOf(path: string): string[] {
  if (!/[/\\]/.test(path) || !existsSync(path)) return []
  try {
    return readBinary(path)
      .exports.map(({ name }) => name)
      .filter((name) => !/__xla_(?:ffi|host)/.test(name))
  } catch {
    return [] // The file has changed since it was loaded. The hint is only an aid.
  }
}

/** Follows Itanium's rule: `_Z`, and the name after its length. */
export function unmangledHint(name: string, symbols: readonly string[]): string | undefined {
  const written = `${name.length}${name}`
  const changed = symbols.find((symbol) => {
    const at = symbol.indexOf(written)
    return symbol.startsWith('_Z') && at > 0 && !/\d/.test(symbol[at - 1]!)
  })
  return changed && `Declare it extern "C" (TN_XLA_EXPORT), because C++ exports it as ${changed}.`
}
