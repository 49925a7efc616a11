import { readBinary, type MissingLibrary } from '@tenon/binary'
import { siblingPath } from '@tenon/core/internal'

/** A library that a file needs, and that Tenon loads before it. */
export interface ProvidedLibrary extends MissingLibrary {
  /** The symbols that the file imports and that Tenon's library does not export. */
  readonly lacking: readonly string[]
}

/** The names that files import from the libraries of Tenon: C functions, and mangled names of C++. */
const importsOf = {
  tvm_ffi: /^_?TVMFFI|^_+Z.*3tvm3ffi/,
  tvm_runtime: /^_?TVM(?!FFI)|^_+Z.*3tvm7runtime/,
  tenon_tensorflow: /^TF_|^_+Z.*10tensorflow/,
} as const

/** The names by which files need the libraries of Tenon. */
const namesOf = {
  tvm_ffi: /^(?:@rpath\/)?(?:lib)?tvm_ffi(?:\.so(?:\.\d+)*|\.dylib|\.dll)$/,
  tvm_runtime: /^(?:@rpath\/)?(?:lib)?tvm_runtime(?:\.so(?:\.\d+)*|\.dylib|\.dll)$/,
  tenon_tensorflow: /^libtensorflow(?:_framework)?\.so\.2$/,
} as const

/** Splits the libraries that the system's loader cannot find into those that Tenon provides, and others. */
export function splitProvided(missing: readonly MissingLibrary[]): {
  missing: readonly MissingLibrary[]
  provided: readonly ProvidedLibrary[]
} {
  const provided = missing.flatMap((library) => providedLibrary(library) ?? [])
  const names = new Set(provided.map(({ name }) => name))
  return { missing: missing.filter(({ name }) => !names.has(name)), provided }
}

function providedLibrary({ name, neededBy }: MissingLibrary): ProvidedLibrary | undefined {
  const own = (Object.keys(namesOf) as (keyof typeof namesOf)[]).find((one) => namesOf[one].test(name))
  if (own === undefined) return undefined
  const exported = exportsOf(own)
  if (exported === undefined) return undefined
  const imported = readBinary(neededBy).imports.filter((symbol) => !symbol.weak && importsOf[own].test(symbol.name))
  return { name, neededBy, lacking: imported.map((symbol) => symbol.name).filter((symbol) => !exported.has(symbol)) }
}

/** Undefined if the library of this package cannot be read, so that it cannot be loaded either. */
function exportsOf(library: keyof typeof importsOf): ReadonlySet<string> | undefined {
  try {
    return new Set(readBinary(siblingPath(library)).exports.map(({ name }) => name))
  } catch {
    return undefined
  }
}
