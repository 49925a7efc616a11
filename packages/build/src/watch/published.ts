import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import type { Artifact } from '../build.ts'

/** A copy of a built library, under a path that no other build has. */
export interface WatchedLibrary {
  readonly name: string
  /** The absolute path. */
  readonly path: string
}

/** How long folders of earlier watchers are kept, because a process may still open a library in them. In milliseconds. */
const KEPT = 24 * 60 * 60 * 1000

/**
 * The copies of built libraries in `build/watch/<n>`. Each change of a library has a folder of its own, because the loader of the
 * system returns the loaded library for a path that it knows.
 */
export class Published {
  readonly #directory: string
  readonly #versions = new Map<string, string>()
  readonly #libraries: Record<string, string> = {}
  #isAnnounced = false

  /** @param directory of the project */
  constructor(directory: string) {
    this.#directory = join(directory, 'build/watch')
    mkdirSync(this.#directory, { recursive: true })
    for (const name of this.#numbers()) {
      const path = join(this.#directory, String(name))
      if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > KEPT)
        rmSync(path, { recursive: true, force: true })
    }
  }

  /** Copies the libraries that have changed since the last call. A reader finds all of a build or nothing. */
  add(artifacts: readonly Artifact[]): WatchedLibrary[] {
    const changed = artifacts.filter(({ path, target: { name } }) => this.#versions.get(name) !== versionOf(path))
    if (changed.length === 0) return []
    const temporary = join(this.#directory, `.${process.pid}`)
    mkdirSync(temporary, { recursive: true })
    for (const { path, target } of changed) {
      this.#versions.set(target.name, versionOf(path))
      copyFileSync(path, join(temporary, basename(path)))
    }
    const number = this.#moveToNumber(temporary)
    return changed.map(({ path, target: { name } }) => {
      this.#libraries[name] = `${number}/${basename(path)}`
      return { name, path: join(this.#directory, this.#libraries[name]) }
    })
  }

  /** Tells other processes which libraries to use, until {@link retract}. */
  announce(): void {
    const path = join(this.#directory, 'current.json')
    const temporary = `${path}.${process.pid}`
    writeFileSync(temporary, JSON.stringify({ pid: process.pid, libraries: this.#libraries }))
    renameSync(temporary, path)
    this.#isAnnounced = true
  }

  retract(): void {
    if (this.#isAnnounced) rmSync(join(this.#directory, 'current.json'), { force: true })
  }

  /** Another process may take the same number. */
  #moveToNumber(temporary: string): number {
    for (let number = Math.max(0, ...this.#numbers()) + 1; ; number++) {
      try {
        renameSync(temporary, join(this.#directory, String(number)))
        return number
      } catch (error) {
        if (!['EEXIST', 'ENOTEMPTY', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
      }
    }
  }

  #numbers(): number[] {
    return readdirSync(this.#directory)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  }
}

/** A build replaces the file, so that it has another number or time. */
function versionOf(path: string): string {
  const { ino, mtimeMs } = statSync(path)
  return `${ino} ${mtimeMs}`
}
