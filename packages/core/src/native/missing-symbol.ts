import { existsSync } from 'node:fs'
import { readBinary, readHiddenFunctions } from '@tenon/binary'
import { didYouMean } from '@tenon/binary/internal'
import { LoadError } from '../errors/kinds.ts'

/** The error for a symbol that a library does not export. The hint names similar exports, if the file of the library is known. */
export function missingSymbol(path: string, name: string): LoadError {
  const { exported, hidden } = symbolsOf(path)
  return new LoadError(`the library ${path} does not export a symbol named ${JSON.stringify(name)}`, {
    hint:
      hiddenHint(name, hidden) ??
      unmangledHint(name, exported) ??
      didYouMean(name, exported) ??
      `Build it with default visibility, and declare C++ functions extern "C" so that their names are kept.${listOf(exported)}`,
    details: { path, symbol: name },
  })
}

/** The most names that are listed. */
const MOST_LISTED = 10

/** Names of C++ and of the compiler are not those that a caller looks for. */
function listOf(exported: readonly string[]): string {
  const names = exported.filter((name) => !name.startsWith('_'))
  return names.length === 0 || names.length > MOST_LISTED ? '' : ` It exports ${names.join(', ')}.`
}

interface SymbolNames {
  readonly exported: readonly string[]
  readonly hidden: readonly string[]
}

/** The names of functions, without the marks and signatures of kernels. Empty for a library that the loader found by a bare name. */
function symbolsOf(path: string): SymbolNames {
  if (!/[/\\]/.test(path) || !existsSync(path)) return { exported: [], hidden: [] }
  try {
    const names = readBinary(path).exports.map(({ name }) => name)
    return {
      exported: names.filter((name) => !/__xla_(?:ffi|host)|__tn_signature$/.test(name)),
      hidden: readHiddenFunctions(path),
    }
  } catch {
    return { exported: [], hidden: [] } // The file has changed since it was loaded. The hint is only an aid.
  }
}

function hiddenHint(name: string, hidden: readonly string[]): string | undefined {
  if (!hidden.includes(name)) return undefined
  return `${name} was built with hidden visibility, as nanobind does. Export it with TN_XLA_EXPORT, or with XLA_FFI_DEFINE_HANDLER_SYMBOL of JAX.`
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
