import { readFileSync } from 'node:fs'
import { defineConfig, type Options } from 'tsup'

/** What esbuild makes of a top-level class that uses its own name: `var X = class _X`. */
const renamedClass = /^var (\w+) = class (_\1)\b/gm

/** Gives such classes their names back, because messages and `console.log` print them. */
function restoreClassNames(code: string): string {
  const names = [...code.matchAll(renamedClass)].map(([, name, renamed]) => [name!, renamed!] as const)
  return names.reduce((text, [name, renamed]) => text.replaceAll(new RegExp(`\\b${renamed}\\b`, 'g'), name), code)
}

/** An import of a module of Node.js, as esbuild writes it. */
const builtinImport = /^import (?:(\{.*\})|\* as (\w+)|(\w+)) from "(node:[\w/]+)";$/gm

/**
 * Takes the modules of Node.js from the process. The loader of ES modules reads every export of an imported one, and reading
 * those of node:fs loads its streams, which takes 4 ms of the start of each process.
 */
function takeBuiltins(code: string): string {
  return code.replaceAll(
    builtinImport,
    (_, names: string | undefined, all: string, fallback: string, module: string) =>
      `const ${names?.replaceAll(' as ', ': ') ?? all ?? fallback} = process.getBuiltinModule("${module}");`,
  )
}

/**
 * The configuration that builds the JavaScript of every package: ESM for Node.js 22 with source maps. `tsc` writes the
 * declarations. Sources can read the version of their package from `PACKAGE_VERSION`.
 */
export function esmLibrary(entry: string[]): Options | Options[] {
  const { plugins, ...options } = common()
  const builtins = { name: 'builtins', renderChunk: (code: string) => ({ code: takeBuiltins(code) }) }
  return defineConfig({
    ...options,
    entry,
    format: 'esm',
    clean: true,
    plugins: [...(plugins ?? []), builtins],
  }) as Options
}

/**
 * The manifest of `@tenon/core` is looked up once, when it is needed. The resolver of Node.js takes 1.5 ms for it, so it is
 * asked only where no directory `node_modules` has the package, as with Plug'n'Play.
 */
const coreUrl = `'use strict'
const core = {
  made: undefined,
  get url() {
    return (this.made ??= require('node:url').pathToFileURL(this.manifest()).href)
  },
  manifest() {
    const { existsSync, realpathSync } = require('node:fs')
    const { dirname, join } = require('node:path')
    for (let at = __dirname; at !== dirname(at); at = dirname(at)) {
      const found = join(at, 'node_modules/@tenon/core/package.json')
      if (existsSync(found)) return realpathSync(found)
    }
    return require.resolve('@tenon/core/package.json')
  },
}`

/**
 * The configuration that bundles a program with the packages of the workspace into one CommonJS file, which Node.js
 * loads in a fraction of the time. Imports of Node.js's own modules are one reason, because the loader of ES modules reads every
 * export. Other built files, `./cli/*`, are left to the loader. `import.meta.url` must not be used.
 *
 * @param entry the source file, by the name of the output without extension
 */
export function commonJsProgram(entry: Readonly<Record<string, string>>): Options {
  return {
    ...common(),
    entry: { ...entry },
    format: 'cjs',
    sourcemap: false,
    noExternal: [/^@tenon\//],
    external: [/^\.\/cli\/.*js$/],
    banner: { js: "'use strict'" },
  }
}

/** As {@link commonJsProgram}, but `import.meta.url` is the manifest of `@tenon/core`, from which the native core and koffi are found. */
export function commonJsProgramWithCore(entry: Readonly<Record<string, string>>): Options {
  const { define, ...options } = commonJsProgram(entry)
  return {
    ...options,
    define: { ...define, 'import.meta.url': 'core.url' },
    banner: { js: coreUrl },
  }
}

function common(): Options {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  return {
    target: 'node22.12',
    platform: 'node',
    sourcemap: true,
    dts: false,
    removeNodeProtocol: false,
    plugins: [{ name: 'class-names', renderChunk: (code) => ({ code: restoreClassNames(code) }) }],
    define: { PACKAGE_VERSION: JSON.stringify(version) },
  }
}
