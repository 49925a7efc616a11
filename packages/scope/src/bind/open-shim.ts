import { LoadError } from '@tenon/core'
import { SymbolLookup } from '../linker/symbol-lookup.ts'
import type { ResourceScope } from '../scope/resource-scope.ts'

/** The text in a shim by which its module recognizes it. */
const HASH = 'tenon_shim_hash'

/**
 * Opens the library that `tenon bind --shim` has compiled beside a module.
 *
 * @throws {LoadError} if it was compiled for another module
 */
export function openShim(
  { path, hash }: { readonly path: string; readonly hash: string },
  scope: ResourceScope,
): SymbolLookup {
  const lookup = SymbolLookup.ofLibrary(path, scope)
  const found = lookup.find(HASH)?.reinterpret(hash.length).getString(0, 'utf-8', hash.length)
  if (found === hash) return lookup
  throw new LoadError(
    `${path} must be compiled for this module, got a file for ${found ?? 'no module'} instead of ${hash}`,
    {
      hint: 'Run tenon bind --shim again, and copy all files that it writes.',
    },
  )
}
