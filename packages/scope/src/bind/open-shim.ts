import { LoadError } from '@tenon/core'
import { SymbolLookup } from '../linker/symbol-lookup.ts'
import type { ResourceScope } from '../scope/resource-scope.ts'

/** The text in a shim by which its module recognizes it. */
export const SHIM_HASH = 'tenon_shim_hash'

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
  checkShim(path, hash, lookup.find(SHIM_HASH)?.reinterpret(hash.length).getString(0, 'utf-8', hash.length))
  return lookup
}

/** @throws {LoadError} if a shim has another hash than its module */
export function checkShim(path: string, hash: string, found: string | undefined): void {
  if (found === hash) return
  throw new LoadError(
    `${path} must be compiled for this module, got a file for ${found ?? 'no module'} instead of ${hash}`,
    {
      hint: 'Run tenon bind --shim again, and copy all files that it writes.',
    },
  )
}
