import { readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import { MAIN_ENTRIES, mergeChunks } from './merge-chunks.ts'

type Plugin = NonNullable<Options['plugins']>[number]

const projectPath = join(import.meta.dirname, '../../../project.json')

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

/** The oldest version of Node.js that the package in the working directory supports, as its manifest says. */
function oldestNode(): readonly [major: number, minor: number] {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines?: { node?: string } }
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines?.node ?? '') ?? []
  if (major === undefined) throw new Error('package.json must have engines.node, such as ">=22.12"')
  return [Number(major), Number(minor)]
}

/** The oldest versions of the other runtimes in which the tests run. They also have a version of Node.js, which says nothing. */
const OLDEST = { bun: '1.4', deno: '2.9' }

/**
 * The first statement of each built file. An older runtime would fail at the first function that it lacks, with a message that does not say
 * why. Modules of a package are evaluated in an order that the build chooses, so each of them checks. Browsers pass.
 *
 * @param refuse the statement for the constant `message`
 */
function checkNode(refuse: string): string {
  const oldest = oldestNode().join('.')
  return `{
  const { bun, deno, node = "${oldest}" } = globalThis.process?.versions ?? {};
  const [name, found, oldest] = bun ? ["Bun", bun, "${OLDEST.bun}"] : deno ? ["Deno", deno, "${OLDEST.deno}"] : ["Node.js", node, "${oldest}"];
  const [[major, minor], [leastMajor, leastMinor]] = [found, oldest].map((version) => version.split(".").map(Number));
  if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
    const message = \`Tenon needs \${name} \${oldest} or later, got \${found}\`;
    ${refuse}
  }
}`
}

/**
 * The configuration that builds the JavaScript of every package: ESM for Node.js 22 with source maps. `tsc` writes the
 * declarations. Sources can read the version of their package from `PACKAGE_VERSION`.
 *
 * @param main the entry points that a program loads in nearly all cases
 */
export function esmLibrary(entry: string[], main: readonly string[] = MAIN_ENTRIES): Options | Options[] {
  const { plugins, ...options } = common()
  const banner = checkNode('throw new Error(message);')
  const builtins = { name: 'builtins', renderChunk: (code: string) => ({ code: takeBuiltins(code) }) }
  const oneFile: Plugin = {
    name: 'one-file',
    async buildEnd({ writtenFiles }) {
      const directory = resolve(this.options.outDir)
      await mergeChunks(
        directory,
        writtenFiles.map(({ name }) => relative(directory, resolve(name))),
        { main, banner },
      )
    },
  }
  return defineConfig({
    ...options,
    entry,
    format: 'esm',
    clean: true,
    banner: { js: banner },
    // The packages contain their sources.
    esbuildOptions: (esbuild) => {
      esbuild.sourcesContent = false
    },
    plugins: [...(plugins ?? []), builtins, oneFile],
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
    banner: { js: `'use strict'\n${checkProgram()}` },
  }
}

/** A program has nothing that could handle an error, so it prints only the sentence. */
function checkProgram(): string {
  return checkNode('console.error(message); process.exit(1);')
}

/** As {@link commonJsProgram}, but `import.meta.url` is the manifest of `@tenon/core`, from which the native core and koffi are found. */
export function commonJsProgramWithCore(entry: Readonly<Record<string, string>>): Options {
  const { define, ...options } = commonJsProgram(entry)
  return {
    ...options,
    define: { ...define, 'import.meta.url': 'core.url' },
    banner: { js: coreUrl.replace("'use strict'", `'use strict'\n${checkProgram()}`) },
  }
}

/** The address of the documentation as an expression, which is undefined until a person has filled project.json. */
function documentationSite(): string {
  const { site } = JSON.parse(readFileSync(projectPath, 'utf8')) as { site: string }
  return site.includes('SITE') ? 'undefined' : JSON.stringify(site)
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
    define: { PACKAGE_VERSION: JSON.stringify(version), DOCUMENTATION_SITE: documentationSite() },
  }
}
