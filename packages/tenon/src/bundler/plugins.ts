import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { coreImport, ModuleLibraries } from './copy-libraries.ts'

/** The plugin of {@link rollupPlugin}, as Rollup and Vite call it. */
export interface RollupPlugin {
  readonly name: string
  /** Vite uses the plugin only to build. */
  readonly apply: 'build'
  /** Vite finds packages itself behind such plugins. */
  readonly enforce: 'pre'
  /** Leaves the core out of the bundle. */
  resolveId(source: string): { id: string; external: true } | null
  /** Makes modules find their libraries beside the bundle. */
  readonly transform: { readonly order: 'pre'; handler(code: string, id: string): { code: string; map: null } | null }
  /** Copies the libraries. */
  writeBundle(
    options: { readonly dir?: string | undefined; readonly file?: string | undefined },
    bundle: Readonly<Record<string, { readonly fileName: string; readonly moduleIds?: readonly string[] }>>,
  ): void
}

/**
 * Returns a plugin for Rollup, and for Vite, with which a bundle finds its native libraries: each library that a bundled module names by
 * `new URL('path/to/libk.so', import.meta.url)`, as modules of `tenon types` do, is copied beside the file of the bundle with the module, as
 * is its sidecar. `@tenon/core` is left out of the bundle. Install it where the bundle runs.
 *
 * @throws {Error} (at the end of the build) if two libraries of one folder have the same name
 * @example
 * import { rollupPlugin } from 'tenon/bundler'
 *
 * const plugin = rollupPlugin() // the member plugins of a configuration of Rollup or Vite: [rollupPlugin()]
 * plugin.name // 'tenon'
 */
export function rollupPlugin(): RollupPlugin {
  const libraries = new ModuleLibraries()
  return {
    name: 'tenon',
    apply: 'build',
    enforce: 'pre',
    resolveId: (source) => (coreImport.test(source) ? { id: source, external: true } : null),
    transform: {
      order: 'pre',
      handler(code, id) {
        const rewritten = libraries.rewrite(code, id)
        return rewritten === undefined ? null : { code: rewritten, map: null }
      },
    },
    writeBundle({ dir, file = '' }, bundle) {
      const directory = dir ?? dirname(file)
      for (const { fileName, moduleIds = [] } of Object.values(bundle))
        libraries.copy(moduleIds, dirname(join(directory, fileName)))
    },
  }
}

/** The part of a build of esbuild that {@link esbuildPlugin} uses. */
export interface EsbuildBuild {
  readonly initialOptions: { absWorkingDir?: string; format?: string; metafile?: boolean; write?: boolean }
  onResolve(
    options: { filter: RegExp },
    callback: (args: { path: string }) => { path: string; external: boolean },
  ): void
  onLoad(
    options: { filter: RegExp },
    callback: (args: { path: string }) => { contents: string; loader: 'ts' | 'js' } | undefined,
  ): void
  onEnd(
    callback: (result: {
      readonly metafile?: { readonly outputs: Readonly<Record<string, { readonly inputs: object }>> } | undefined
    }) => void,
  ): void
}

/** The plugin of {@link esbuildPlugin}, as esbuild calls it. */
export interface EsbuildPlugin {
  readonly name: string
  setup(build: EsbuildBuild): void
}

/**
 * Returns a plugin for esbuild that does what {@link rollupPlugin} does. Bundles can be ES modules or CommonJS for Node.js. With
 * `write: false`, no library is copied.
 *
 * @throws {Error} (at the end of the build) if two libraries of one folder have the same name
 * @example
 * import { esbuildPlugin } from 'tenon/bundler'
 *
 * const plugin = esbuildPlugin() // build({ entryPoints: ['main.ts'], bundle: true, platform: 'node', plugins: [plugin], ... })
 * plugin.name // 'tenon'
 */
export function esbuildPlugin(): EsbuildPlugin {
  return {
    name: 'tenon',
    setup({ initialOptions, onResolve, onLoad, onEnd }) {
      const libraries = new ModuleLibraries()
      const { absWorkingDir = process.cwd(), format, write } = initialOptions
      // A bundle of CommonJS has no import.meta.
      const bundleUrl = format === 'esm' ? undefined : 'require("node:url").pathToFileURL(__filename)'
      initialOptions.metafile = true
      onResolve({ filter: coreImport }, ({ path }) => ({ path, external: true }))
      onLoad({ filter: /\.[cm]?[jt]s$/ }, ({ path }) => {
        const contents = libraries.rewrite(readFileSync(path, 'utf8'), path, bundleUrl)
        return contents === undefined ? undefined : { contents, loader: path.endsWith('ts') ? 'ts' : 'js' }
      })
      onEnd(({ metafile }) => {
        if (write === false) return
        for (const [output, { inputs }] of Object.entries(metafile?.outputs ?? {})) {
          const modules = Object.keys(inputs).map((input) => resolve(absWorkingDir, input))
          libraries.copy(modules, dirname(resolve(absWorkingDir, output)))
        }
      })
    },
  }
}
