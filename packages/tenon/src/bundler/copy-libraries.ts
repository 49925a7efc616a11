import { copyFileSync, existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { copySidecar } from '../signatures/sidecar.ts'
import { libraryUrl } from './library-url.ts'

/** Imports of the core, which a bundle cannot contain, because it finds its own libraries beside its package. */
export const coreImport: RegExp = /^@tenon\/core(?:\/|$)/

/** The libraries of the modules of one build. */
export class ModuleLibraries {
  readonly #byModule = new Map<string, readonly string[]>()
  readonly #copied = new Map<string, string>()

  /**
   * Makes a module find its libraries in the folder of its bundle.
   *
   * @param bundleUrl the expression for the URL of the bundle
   * @returns undefined if the code names no library that exists
   */
  rewrite(code: string, module: string, bundleUrl = 'import.meta.url'): string | undefined {
    const libraries: string[] = []
    const rewritten = code.replaceAll(libraryUrl, (expression, _quote, place: string) => {
      const library = fileURLToPath(new URL(place, pathToFileURL(module)))
      if (!existsSync(library)) return expression
      libraries.push(library)
      return `new URL(${JSON.stringify(`./${encodeURIComponent(basename(library))}`)}, ${bundleUrl})`
    })
    if (libraries.length === 0) return undefined
    this.#byModule.set(module, libraries)
    return rewritten
  }

  /** Copies the libraries of modules, and their sidecars, beside the bundle with the modules. @throws {Error} if two have one name */
  copy(modules: readonly string[], directory: string): void {
    for (const library of modules.flatMap((module) => this.#byModule.get(module) ?? [])) {
      const copy = join(directory, basename(library))
      const other = this.#copied.get(copy) ?? library
      if (other !== library) throw new Error(`a bundle cannot contain both ${other} and ${library}, rename one of them`)
      this.#copied.set(copy, library)
      copyFileSync(library, copy)
      copySidecar(library, copy)
    }
  }
}
