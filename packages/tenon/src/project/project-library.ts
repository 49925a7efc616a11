import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LoadError } from '@tenon/core'
import { libraryFileName } from '@tenon/core/internal'

const variants = ['release', 'debug', 'asan']

/** How often a process that started before `tenon build --watch` looks for it. In milliseconds. */
const LOOK_INTERVAL = 500

/** The contents of `build/watch/current.json`, which `tenon build --watch` replaces after each build. */
interface Current {
  /** The process that watches. */
  readonly pid: number
  /** The paths of the libraries by name, relative to `build/watch`. */
  readonly libraries: Readonly<Record<string, string>>
}

/** The libraries of a folder, as its module in this thread sees them. */
class ProjectFolder {
  readonly #directory: string
  readonly #paths = new Map<string, string>()
  #isWatched: boolean
  #version: string | undefined
  #current: Current | undefined

  constructor(directory: string) {
    this.#directory = directory
    // Whoever names a variant does not want that of the watcher.
    const isChosen = Boolean(process.env['TENON_BUILD_VARIANT'])
    this.#isWatched = !isChosen && this.#readCurrent()
    if (!isChosen && !this.#isWatched) this.#lookForWatcher()
  }

  path(library: string): string {
    if (this.#isWatched) this.#readCurrent()
    const watched = this.#current?.libraries[library]
    return watched === undefined ? this.#builtPath(library) : join(this.#directory, 'build/watch', watched)
  }

  /** Reads the file only if it has been replaced. @returns whether a process that watches has written it */
  #readCurrent(): boolean {
    const path = join(this.#directory, 'build/watch/current.json')
    const status = statSync(path, { throwIfNoEntry: false })
    if (status === undefined) return false
    const version = `${status.ino} ${status.mtimeMs}`
    if (version === this.#version) return true
    try {
      const current = JSON.parse(readFileSync(path, 'utf8')) as Current
      // A process that was killed has left its file.
      if (!isRunning(current.pid)) return false
      this.#current = current
    } catch {
      return false
    }
    this.#version = version
    return true
  }

  #lookForWatcher(): void {
    const timer = setInterval(() => {
      if (!this.#readCurrent()) return
      this.#isWatched = true
      clearInterval(timer)
    }, LOOK_INTERVAL)
    timer.unref()
  }

  #builtPath(library: string): string {
    const known = this.#paths.get(library)
    if (known !== undefined) return known
    const variant = variantOf(process.env)
    const path = join(this.#directory, 'build', variant, libraryFileName(library))
    if (!existsSync(path)) {
      const command = variant === 'release' ? 'tenon build' : `tenon build --variant ${variant}`
      throw new LoadError(`${path} has not been built`, { hint: `Run npx ${command} in ${this.#directory}.` })
    }
    this.#paths.set(library, path)
    return path
  }
}

function variantOf({ TENON_BUILD_VARIANT: variant }: NodeJS.ProcessEnv): string {
  if (variant === undefined || variant === '') return 'release'
  if (variants.includes(variant)) return variant
  throw new LoadError(`TENON_BUILD_VARIANT must be one of ${variants.join(', ')}, got ${variant}`, {
    hint: 'Remove the variable to use the release build.',
  })
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const folders = new Map<string, ProjectFolder>()

/**
 * The path of a library that `tenon build` has built in a folder. Modules that `tenon build` writes call this function before each
 * call of a kernel, so that they use the newest library while `tenon build --watch` runs.
 *
 * @param from the URL of the module, which is in the folder `dist` of the project @param library the name without prefix and extension
 * @throws {LoadError} if the library has not been built, or `TENON_BUILD_VARIANT` is not a variant
 */
export function projectLibrary(from: string, library: string): string {
  let folder = folders.get(from)
  if (folder === undefined) {
    folder = new ProjectFolder(dirname(dirname(fileURLToPath(from))))
    folders.set(from, folder)
  }
  return folder.path(library)
}
