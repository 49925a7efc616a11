import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkOptions, wrongValue } from '@tenon/core/internal'
import { coreImport, ModuleLibraries } from './copy-libraries.ts'
import { CORE_MODULE, EXTRACT_MODULE, FILES_PREFIX, filesModule, takeFromBundle } from './libraries-inside.ts'

/** Where {@link esbuildPlugin} and {@link rollupPlugin} put libraries. */
export interface BundlerOptions {
  /**
   * `'beside'`, the default: in files beside the bundle, which needs an installed `@tenon/core`. `'inside'`: in the bundle itself, with the
   * core and its libraries, so that it needs no other file.
   */
  readonly libraries?: 'beside' | 'inside'
}

/** The plugin of {@link rollupPlugin}, as Rollup and Vite call it. */
export interface RollupPlugin {
  readonly name: string
  /** Vite uses the plugin only to build. */
  readonly apply: 'build'
  /** Vite finds packages itself behind such plugins. */
  readonly enforce: 'pre'
  /** Leaves the core out of the bundle, or finds the modules with libraries. */
  resolveId(
    this: { resolve(source: string, importer: string): Promise<{ readonly id: string } | null> },
    source: string,
  ): { id: string; external: true } | string | null | Promise<string | null>
  /** Makes the modules with libraries. */
  load(id: string): string | null
  /** Makes modules find their libraries beside the bundle. */
  readonly transform: { readonly order: 'pre'; handler(code: string, id: string): { code: string; map: null } | null }
  /** Copies the libraries. */
  writeBundle(
    options: { readonly dir?: string | undefined; readonly file?: string | undefined },
    bundle: Readonly<Record<string, { readonly fileName: string; readonly moduleIds?: readonly string[] }>>,
  ): void
}

/** This package, from which a bundler finds the core. */
const ownPath = fileURLToPath(import.meta.url)

/** @returns whether libraries are put into the bundle @throws {ArgumentError} if an option is not valid */
function checkInside(options: BundlerOptions | undefined): boolean {
  const { libraries = 'beside' } = checkOptions(options, ['libraries'])
  if (libraries !== 'beside' && libraries !== 'inside') throw wrongValue('libraries', '"beside" or "inside"', libraries)
  return libraries === 'inside'
}

/** Rollup leaves modules to other plugins unless their names begin with this. */
const VIRTUAL = '\0'

/**
 * Returns a plugin for Rollup, and for Vite, with which a bundle finds its native libraries: each library that a bundled module names by
 * `new URL('path/to/libk.so', import.meta.url)`, as modules of `tenon types` do, is copied beside the file of the bundle with the module, as
 * is its sidecar. `@tenon/core` is left out of the bundle. Install it where the bundle runs. With `libraries: 'inside'`, the bundle contains
 * them all, and also finds the libraries of modules of `tenon build` and `tenon pack`.
 *
 * @throws {ArgumentError} if an option is not valid
 * @throws {Error} (at the end of the build) if two libraries of one folder have the same name
 * @example
 * import { rollupPlugin } from 'tenon/bundler'
 *
 * const plugin = rollupPlugin() // the member plugins of a configuration of Rollup or Vite: [rollupPlugin()]
 * plugin.name // 'tenon'
 */
export function rollupPlugin(options?: BundlerOptions): RollupPlugin {
  const isInside = checkInside(options)
  const libraries = new ModuleLibraries()
  return {
    name: 'tenon',
    apply: 'build',
    enforce: 'pre',
    resolveId(source) {
      if (!isInside) return coreImport.test(source) ? { id: source, external: true } : null
      if (source.startsWith(FILES_PREFIX)) return VIRTUAL + source
      if (source !== EXTRACT_MODULE) return null
      return this.resolve(CORE_MODULE, ownPath).then((found) => found?.id ?? null)
    },
    load: (id) =>
      id.startsWith(VIRTUAL + FILES_PREFIX) ? filesModule(id.slice(VIRTUAL.length + FILES_PREFIX.length)) : null,
    transform: {
      order: 'pre',
      handler(code, id) {
        const rewritten = isInside ? takeFromBundle(code, id) : libraries.rewrite(code, id)
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
  resolve(path: string, options: { kind: 'import-statement'; resolveDir: string }): Promise<{ readonly path: string }>
  onResolve(
    options: { filter: RegExp },
    callback: (args: {
      path: string
    }) => { path: string; external?: boolean; namespace?: string } | Promise<{ path: string }>,
  ): void
  onLoad(
    options: { filter: RegExp; namespace?: string },
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
 * @throws {ArgumentError} if an option is not valid
 * @throws {Error} (at the end of the build) if two libraries of one folder have the same name
 * @example
 * import { esbuildPlugin } from 'tenon/bundler'
 *
 * const plugin = esbuildPlugin() // build({ entryPoints: ['main.ts'], bundle: true, platform: 'node', plugins: [plugin], ... })
 * plugin.name // 'tenon'
 */
export function esbuildPlugin(options?: BundlerOptions): EsbuildPlugin {
  const setup = checkInside(options) ? putInside : putBeside
  return { name: 'tenon', setup }
}

const scripts = /\.[cm]?[jt]s$/
const loaderOf = (path: string): 'ts' | 'js' => (path.endsWith('ts') ? 'ts' : 'js')

function putBeside({ initialOptions, onResolve, onLoad, onEnd }: EsbuildBuild): void {
  const libraries = new ModuleLibraries()
  const { absWorkingDir = process.cwd(), format, write } = initialOptions
  // A bundle of CommonJS has no import.meta.
  const bundleUrl = format === 'esm' ? undefined : 'require("node:url").pathToFileURL(__filename)'
  initialOptions.metafile = true
  onResolve({ filter: coreImport }, ({ path }) => ({ path, external: true }))
  onLoad({ filter: scripts }, ({ path }) => {
    const contents = libraries.rewrite(readFileSync(path, 'utf8'), path, bundleUrl)
    return contents === undefined ? undefined : { contents, loader: loaderOf(path) }
  })
  onEnd(({ metafile }) => {
    if (write === false) return
    for (const [output, { inputs }] of Object.entries(metafile?.outputs ?? {})) {
      const modules = Object.keys(inputs).map((input) => resolve(absWorkingDir, input))
      libraries.copy(modules, dirname(resolve(absWorkingDir, output)))
    }
  })
}

function putInside(build: EsbuildBuild): void {
  const namespace = 'tenon-files'
  build.onResolve({ filter: new RegExp(`^${FILES_PREFIX}`) }, ({ path }) => ({
    path: path.slice(FILES_PREFIX.length),
    namespace,
  }))
  build.onResolve({ filter: new RegExp(`^${EXTRACT_MODULE}$`) }, async () => {
    const { path } = await build.resolve(CORE_MODULE, { kind: 'import-statement', resolveDir: dirname(ownPath) })
    return { path }
  })
  build.onLoad({ filter: /^/, namespace }, ({ path }) => ({ contents: filesModule(path), loader: 'js' }))
  build.onLoad({ filter: scripts }, ({ path }) => {
    const contents = takeFromBundle(readFileSync(path, 'utf8'), path)
    return contents === undefined ? undefined : { contents, loader: loaderOf(path) }
  })
}
