import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { type Artifact, buildPackage } from '../build.ts'
import { loadProject, type Project } from '../project/load-project.ts'
import type { Variant } from '../targets.ts'
import { inputsVersion } from './inputs.ts'
import { Published, type WatchedLibrary } from './published.ts'

/** How often the files are looked at. A change is built when the files have been the same for this time. In milliseconds. */
const INTERVAL = 50

/** A build of a project that is watched. */
export interface WatchedBuild {
  readonly project: Project
  /** All libraries, in the build directory of the variant. */
  readonly artifacts: readonly Artifact[]
  /** Copies of the libraries that have changed since the last build. */
  readonly changed: readonly WatchedLibrary[]
  /**
   * Lets modules in other processes, which `tenon build` has written, use these libraries from their next call on. Without it, they go on
   * with those of the last build that was announced.
   */
  announce(): void
}

/** What {@link watchPackage} builds, and whom it informs. */
export interface WatchPackageOptions {
  /** By default `release`. */
  readonly variant?: Variant
  /** Called with the warnings of the compiler. By default they are dropped. */
  readonly onWarning?: (text: string) => void
  /** Called after each build that succeeds. The next build begins when the promise that it returns is settled. */
  onBuild(build: WatchedBuild): void | Promise<void>
  /** Called after each build that fails, and with what `onBuild` throws. The libraries of the last build that succeeded stay in use. */
  onError(error: unknown): void
}

/** A project that is built after each change. */
export interface PackageWatcher {
  /** Ends the watching. A build that runs is not reported any more. */
  close(): void
}

/**
 * Builds a project at once and after each change of its sources, headers and configuration. The process stays alive until `close()`.
 *
 * @param directory of the project
 */
export function watchPackage(directory: string, options: WatchPackageOptions): PackageWatcher {
  const watcher = new Watcher(resolve(directory), options)
  void watcher.run()
  return { close: () => watcher.close() }
}

class Watcher {
  readonly #directory: string
  readonly #options: WatchPackageOptions
  readonly #closing = new AbortController()
  #published: Published | undefined
  #project: Project | undefined

  constructor(directory: string, options: WatchPackageOptions) {
    this.#directory = directory
    this.#options = options
  }

  async run(): Promise<void> {
    while (!this.#isClosed()) {
      await this.#changeSince(await this.#build())
    }
  }

  close(): void {
    if (this.#isClosed()) return
    this.#closing.abort()
    this.#published?.retract()
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  #version(): string {
    return inputsVersion(this.#directory, this.#project)
  }

  /** Waits until the files have changed, and then until they stay as they are. */
  async #changeSince(version: string): Promise<void> {
    for (let last = version; !this.#isClosed();) {
      await sleep(INTERVAL, undefined, { signal: this.#closing.signal }).catch(() => {})
      const now = this.#version()
      if (now !== version && now === last) return
      last = now
    }
  }

  /** @returns the version of the inputs, after whose change there is something to build again */
  async #build(): Promise<string> {
    const { variant = 'release', onWarning, onBuild, onError } = this.#options
    const known = this.#project
    let version = this.#version()
    try {
      this.#project = await loadProject(this.#directory, { onWarning })
      // The project may name other inputs than before.
      if (inputsVersion(this.#directory, known) === version) version = this.#version()
      const artifacts = await buildPackage(this.#project, { variant, kinds: ['shared'] })
      if (this.#isClosed()) return version
      this.#published ??= new Published(this.#directory)
      const published = this.#published
      const changed = published.add(artifacts)
      const announce = (): void => {
        if (!this.#isClosed()) published.announce()
      }
      await onBuild.call(this.#options, { project: this.#project, artifacts, changed, announce })
    } catch (error) {
      if (!this.#isClosed()) onError.call(this.#options, error)
    }
    return version
  }
}
