import { basename, dirname, resolve } from 'node:path'
import { watchPackage } from '@tenon/build'
import { ScopeHeldError } from '@tenon/core'
import { checkOptions, wrongType, wrongValue, filePath } from '@tenon/core/internal'
import { Library } from '../library.ts'

/** The options of {@link watch}. */
export interface WatchOptions {
  /** How the libraries are compiled. By default `release`. */
  readonly variant?: 'release' | 'debug' | 'asan'
  /**
   * Called with the error of a build that failed, with the error of a library that cannot be opened, and with what `onLoad` throws.
   * By default the message is printed to stderr.
   */
  readonly onError?: (error: unknown) => void
}

/** A package of kernels that is built and loaded again after each change. */
export interface Watch extends Disposable {
  /** Ends the watching, and closes the libraries as soon as no call of their functions runs. */
  close(): void
}

const OPTIONS = ['variant', 'onError'] as const

const VARIANTS = ['release', 'debug', 'asan']

/** How often a library with a running call is looked at. In milliseconds. */
const RETRY_INTERVAL = 20

/**
 * Builds a package of kernels now and after each change of its sources, and opens each library that was built. The process stays alive
 * until `close()`.
 *
 * When `onLoad` has returned, the library that it replaces is closed as soon as no call of its functions runs: a call that has started
 * ends with the old code, and later calls of old functions throw a `ScopeClosedError`. A build that fails changes nothing. Code
 * stays mapped, so a process that loads a thousand builds has a thousand libraries in its memory.
 *
 * @param config the path or `file:` URL of `tenon.config.ts`, or of its folder
 * @param onLoad called with each library that was opened, and with its name in the configuration
 * @throws {ArgumentError} if an argument is not valid
 * @example
 * let silu
 * using watching = watch('./my-kernels', (library) => {
 *   silu = library.kernel('silu')
 * })
 */
export function watch(
  config: string | URL,
  onLoad: (library: Library, name: string) => void,
  options: WatchOptions = {},
): Watch {
  const path = resolve(filePath(config))
  if (typeof onLoad !== 'function') throw wrongType('onLoad', 'a function', onLoad)
  const { variant = 'release', onError = printError } = checkOptions(options, OPTIONS)
  if (typeof onError !== 'function') throw wrongType('onError', 'a function', onError)
  if (!VARIANTS.includes(variant)) throw wrongValue('variant', `one of ${VARIANTS.join(', ')}`, variant)
  const loaded = new Map<string, Library>()
  const watcher = watchPackage(basename(path).startsWith('tenon.config.') ? dirname(path) : path, {
    variant,
    onBuild({ changed }) {
      for (const library of changed) {
        try {
          load(library.name, library.path)
        } catch (error) {
          onError(error)
        }
      }
    },
    onError,
  })
  const load = (name: string, file: string): void => {
    const library = Library.open(file)
    try {
      onLoad(library, name)
    } catch (error) {
      closeWhenUnused(library)
      throw error
    }
    const old = loaded.get(name)
    loaded.set(name, library)
    if (old !== undefined) closeWhenUnused(old)
  }
  const close = (): void => {
    watcher.close()
    for (const library of loaded.values()) closeWhenUnused(library)
    loaded.clear()
  }
  return { close, [Symbol.dispose]: close }
}

/** Whoever has got the library may have closed it. */
function closeWhenUnused(library: Library): void {
  try {
    library[Symbol.dispose]()
  } catch (error) {
    if (!(error instanceof ScopeHeldError)) throw error
    setTimeout(closeWhenUnused, RETRY_INTERVAL, library).unref()
  }
}

function printError(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
}
