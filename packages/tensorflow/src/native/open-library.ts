import { LoadError, NativeLibrary, UnsupportedError } from '@tenon/core'
import { hasTensorFlow, openDistribution, openHost, openHostGlobally, SONAMES } from './host.ts'

/** The part of a library's headers that says how it uses TensorFlow. */
export interface LibraryNeeds {
  readonly needed: readonly string[]
  readonly imports: readonly { readonly name: string; readonly weak: boolean }[]
}

/**
 * Opens a library. If it uses TensorFlow's C API, the functions of the API that kernels need are loaded first.
 *
 * @param needs reads the headers of the library; undefined if it has none
 * @throws {LoadError} as `NativeLibrary.open()`, and if the process has TensorFlow itself
 * @throws {UnsupportedError} if the library uses TensorFlow's C API on Windows
 */
export function openLibrary(path: string, needs: () => LibraryNeeds | undefined): NativeLibrary {
  const hadTensorFlow = hasTensorFlow()
  if (hadTensorFlow && usesTensorFlow(needs())) throw refused(path)
  let opened: NativeLibrary
  try {
    opened = NativeLibrary.open(path)
  } catch (error) {
    const found = error instanceof LoadError ? tryNeeds(needs) : undefined
    if (!usesTensorFlow(found)) throw error
    load(found!)
    opened = NativeLibrary.open(path)
  }
  // The loader may have found the file of TensorFlow that the library needs.
  if (!hadTensorFlow && hasTensorFlow() && usesTensorFlow(tryNeeds(needs))) throw refused(path)
  return opened
}

function load({ needed }: LibraryNeeds): void {
  if (process.platform === 'win32') {
    throw new UnsupportedError("kernels of TensorFlow's C API do not run on Windows", {
      hint: 'Run them on Linux, because libraries for Windows name the file of TensorFlow that has each function.',
    })
  }
  // A library that names the host finds it; the others find functions that all libraries see.
  if (needed.includes(SONAMES[0])) return void openHost()
  openHostGlobally()
  if (needed.includes(SONAMES[1]) && process.platform === 'linux') openDistribution()
}

/** Whether a library needs TensorFlow's C API. */
export function usesTensorFlow(needs: LibraryNeeds | undefined): boolean {
  if (needs === undefined) return false
  return (
    SONAMES.some((name) => needs.needed.includes(name)) ||
    needs.imports.some(({ name, weak }) => !weak && /^_?TF_[A-Z]/.test(name))
  )
}

/** The headers cannot be read if the file is no library, of which the loader's error is the best description. */
function tryNeeds(needs: () => LibraryNeeds | undefined): LibraryNeeds | undefined {
  try {
    return needs()
  } catch {
    return undefined
  }
}

const refused = (path: string): LoadError =>
  new LoadError(`the library ${path} would register its kernels in TensorFlow, which this process has loaded`, {
    hint: 'Open it with Library.isolate(), or before TensorFlow is loaded.',
    details: { path },
  })
