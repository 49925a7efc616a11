import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LoadError } from '../errors/kinds.ts'
import { FUNCTIONS } from '../generated/functions.ts'
import { bundledCore, extractFiles } from './bundled-files.ts'
import { coreLibrary, type CoreFunctions, lastError } from './core-library.ts'
import { bindAll, type FunctionsOf } from './function-table.ts'
import { libraryFileName } from './locate.ts'
import { checkDigest } from './packaged-digests.ts'
import { type FindSymbol, symbolsOf } from './symbols.ts'

type Library = Exclude<keyof typeof FUNCTIONS, 'tenon'>

export type LibraryFunctions<Name extends Library> = FunctionsOf<(typeof FUNCTIONS)[Name]>

/** Returns the address of a function of the C core, for native code that calls it. */
export function coreFunctionAddress(name: keyof CoreFunctions): number {
  return coreLibrary().find(name)
}

/** Returns the path of a library beside the core. @throws {LoadError} if it is not the one that was published. */
export function siblingPath(name: Library): string {
  return fileBesideCore(libraryFileName(name))
}

const compared = new Set<string>()

/** Returns the path of a file beside the core. @throws {LoadError} if it is not the one that was published. */
export function fileBesideCore(name: string): string {
  const { path: core, origin, digests } = coreLibrary()
  const path = join(dirname(core), name)
  if (compared.has(name)) return path
  if (origin === 'bundle') extractFiles(bundledCore!)
  else if (digests === undefined || !existsSync(path)) return path
  else checkDigest(path, digests)
  compared.add(name)
  return path
}

/** Later libraries see the symbols of this one. Called once for a library. @throws {LoadError} if it is missing or does not load. */
export function libraryFunctions<Name extends Library>(name: Name): LibraryFunctions<Name> {
  return bindAll(coreLibrary().bindCore, FUNCTIONS[name], openBesideCore(name))
}

/** Returns the address of a function of a library beside the core. @throws {LoadError} as {@link libraryFunctions} */
export function libraryFunctionAddress<Name extends Library>(
  name: Name,
  symbol: keyof LibraryFunctions<Name> & string,
): number {
  return openBesideCore(name)(symbol)
}

/** The functions of a library beside the core that was opened by its handle, and their addresses. */
export interface OpenedFunctions<Name extends Library> {
  readonly functions: LibraryFunctions<Name>
  addressOf(symbol: keyof LibraryFunctions<Name> & string): number
}

/**
 * Returns the functions of a library beside the core whose symbols later libraries need not see.
 *
 * @param handle that of the loader @returns undefined if the handle is that of another library
 */
export function functionsIn<Name extends Library>(name: Name, handle: number): OpenedFunctions<Name> | undefined {
  const { driver, bindCore } = coreLibrary()
  const find = symbolsOf(driver, bindCore, handle)
  try {
    return { functions: bindAll(bindCore, FUNCTIONS[name], find), addressOf: find }
  } catch {
    return undefined
  }
}

/** All threads use the file that the first one has opened, also after an update of the package. */
function openBesideCore(name: Library): FindSymbol {
  const path = siblingPath(name)
  if (!existsSync(path)) {
    throw new LoadError(`the library ${path} does not exist`, {
      hint: 'Install @tenon/core and its platform package in the same version.',
      details: { path },
    })
  }
  const { driver, bindCore, functions } = coreLibrary()
  const [file, out] = [Buffer.from(path), new BigUint64Array(1)]
  if (functions.tn_library_open_globally(driver.addressOf(file), file.length, driver.addressOf(out)) !== 0) {
    throw new LoadError(`the library ${path} could not be loaded: ${lastError()}`, { details: { path } })
  }
  return symbolsOf(driver, bindCore, Number(out[0]))
}
