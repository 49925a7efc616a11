import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LoadError } from '../errors/kinds.ts'
import { FUNCTIONS } from '../generated/functions.ts'
import { coreLibrary, type CoreFunctions } from './core-library.ts'
import { loadGlobally } from './driver.ts'
import { declareAll, type FunctionsOf } from './function-table.ts'
import { libraryFileName } from './locate.ts'
import { NativeLibrary } from './native-library.ts'

type Library = Exclude<keyof typeof FUNCTIONS, 'tenon'>

export type LibraryFunctions<Name extends Library> = FunctionsOf<(typeof FUNCTIONS)[Name]>

/** Returns the address of a function of the C core, for native code that calls it. */
export function coreFunctionAddress(name: keyof CoreFunctions): number {
  return Number(NativeLibrary.open(coreLibrary().path).symbol(name))
}

export function siblingPath(name: Library): string {
  return join(dirname(coreLibrary().path), libraryFileName(name))
}

/** Later libraries see the symbols of this one. Called once for a library. @throws {LoadError} if it is missing. */
export function libraryFunctions<Name extends Library>(name: Name): LibraryFunctions<Name> {
  const path = siblingPath(name)
  if (!existsSync(path)) {
    throw new LoadError(`the library ${path} does not exist`, {
      hint: 'Install @tenon/core and its platform package in the same version.',
      details: { path },
    })
  }
  return declareAll(loadGlobally(path), FUNCTIONS[name])
}
