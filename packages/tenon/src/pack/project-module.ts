import { readBinary } from '@tenon/binary'
import { describeLibrary, type LeftOut } from '../cli/describe-library.ts'
import { declarations, wrappers, type LibraryPlace } from '../cli/generate-types.ts'
import { InputError } from '../cli/input-error.ts'
import { readSignatures } from '../signatures/read-signatures.ts'

/** A built library of a project, whose functions the module of the project exports. */
export interface BuiltLibrary {
  /** The name without prefix and extension. */
  readonly name: string
  /** The file from which the signatures are read. It may be for another platform. */
  readonly path: string
  /** The place at which the module finds the library. */
  readonly place: LibraryPlace
}

/** The texts of `index.js` and `index.d.ts`. */
export interface ProjectModule {
  readonly script: string
  readonly declarations: string
  /** The names that the module exports. */
  readonly names: readonly string[]
  /** The kernels that the module does not export, and the reasons. */
  readonly left: readonly LeftOut[]
  /** The declarations of the headers of a package that binds a C library. */
  readonly binding?: {
    /** A line for each platform: how many are bound, and how many are not. */
    readonly summary: readonly string[]
    /** A line for each that is not bound. */
    readonly report: readonly string[]
  }
}

/**
 * Writes the module of a project: the functions that `tenon types` writes for each of its libraries. Libraries without kernels,
 * which others use, export nothing.
 *
 * @throws {InputError} if a signature cannot be read, no library describes a kernel, or two libraries have kernels of the same name
 */
export function projectModule(libraries: readonly BuiltLibrary[]): ProjectModule {
  for (const { path } of libraries) refuseUnreadable(path)
  const described = libraries.map(({ name, path, place }) => ({
    name,
    place,
    ...describeLibrary(path, { registered: false, mayBeEmpty: libraries.length > 1 }),
  }))
  const owners = new Map<string, string>()
  for (const { name: library, exported } of described) {
    for (const { name } of [...exported.kernels, ...exported.functions]) {
      const other = owners.get(name)
      if (other !== undefined) {
        throw new InputError(
          `the libraries ${other} and ${library} both export ${name}`,
          'Rename one of the kernels, because the package exports the kernels of all its libraries from one module.',
        )
      }
      owners.set(name, library)
    }
  }
  if (owners.size === 0) {
    throw new InputError(
      `none of the libraries ${libraries.map(({ name }) => name).join(', ')} describes its kernels`,
      'Add a TN_SIGNATURE beside each kernel.',
    )
  }
  const used = described.filter(({ exported: { kernels, functions } }) => kernels.length + functions.length > 0)
  const names = used.map(({ name }) => name).join(', ')
  const { text } = declarations(names, {
    kernels: used.flatMap(({ exported }) => exported.kernels),
    functions: used.flatMap(({ exported }) => exported.functions),
  })
  return {
    script: wrappers(used),
    declarations: text,
    names: [...owners.keys()],
    left: described.flatMap(({ left }) => left),
  }
}

/** The author of a text with a mistake does not want a package without the kernel. */
function refuseUnreadable(path: string): void {
  for (const { signature, unreadable } of readSignatures(path, readBinary(path))) {
    const [first] = unreadable
    if (signature.source !== 'none' || first === undefined) continue
    throw new InputError(
      `the signature of ${signature.name} cannot be read: ${first.reason}`,
      'Correct the text of its TN_KERNEL or TN_SIGNATURE.',
    )
  }
}
