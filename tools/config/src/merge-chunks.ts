import { readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { rollup } from 'rollup'

/** The entry points that a program loads in nearly all cases, in most packages. They and all that they import become one file. */
export const MAIN_ENTRIES: readonly string[] = ['index.js', 'internal.js']

/**
 * The beginning of the name of a module that exports what an entry point exports. Without it, one of the entry points would be the merged file
 * and export the names of the others.
 */
const ENTRY = '\0entry:'

/** The first line of a program. */
const SHEBANG = '#!/usr/bin/env node\n'

/** The share of the merged file below which the part that another entry point loads is a file of its own. */
const SMALL_PART = 0.1

const relativeImport = /^(?:import|export)\b[^;'"]*?(?:from )?"(\.{1,2}\/[^"]+)";$/gm

/**
 * Merges the chunks that the main entry points of a built package load into one file, because each module costs the start of a process about
 * 0.7 ms. esbuild makes a chunk for each combination of entry points. The other entry points import what they share from the merged file, except
 * those that load only a small part of it, such as the errors of core: the chunks of such a part stay files of their own.
 *
 * @param directory the built files
 * @param files all of them, as paths relative to the directory
 * @param options the main entry points, and the first statement of each file
 */
export async function mergeChunks(
  directory: string,
  files: readonly string[],
  { main, banner }: { readonly main: readonly string[]; readonly banner: string },
): Promise<void> {
  const scripts = files.filter((file) => file.endsWith('.js')).map((file) => join(directory, file))
  const entries = scripts.filter((file) => !isChunk(file))
  const chunks = chunksToMerge(entries, main)
  if (chunks.size < 2) return
  const bundle = await rollup({
    input: Object.fromEntries(entries.map((file) => [relative(directory, file).replace(/\.js$/, ''), ENTRY + file])),
    external: (id) => !/^[./]/.test(id),
    treeshake: false,
    plugins: [
      {
        name: 'built-files',
        resolveId: (id) => (id.startsWith(ENTRY) ? id : null),
        load: (id) =>
          id.startsWith(ENTRY) ? `export * from ${JSON.stringify(id.slice(ENTRY.length))}` : readBuilt(id, banner),
      },
    ],
  })
  const programs = new Set(
    entries.filter((file) => readFileSync(file, 'utf8').startsWith(SHEBANG)).map((file) => ENTRY + file),
  )
  for (const file of scripts.filter(isChunk)) for (const name of [file, `${file}.map`]) rmSync(name)
  await bundle.write({
    dir: directory,
    format: 'esm',
    banner: ({ facadeModuleId }) => (programs.has(facadeModuleId ?? '') ? SHEBANG : '') + banner,
    entryFileNames: '[name].js',
    chunkFileNames: ({ name }) => `${name.replace(/-[A-Z0-9]{8}$/, '')}-[hash].js`,
    minifyInternalExports: false,
    manualChunks: (id) => chunks.get(id),
    sourcemap: true,
    sourcemapExcludeSources: true,
  })
  await bundle.close()
}

const isChunk = (file: string): boolean => /-[A-Z0-9]{8}\.js$/.test(file)

/** Returns the name of the chunk that each of the files becomes a part of. */
function chunksToMerge(entries: readonly string[], mainNames: readonly string[]): ReadonlyMap<string, string> {
  const isMain = (entry: string): boolean => mainNames.includes(basename(entry))
  const main = loadedFiles(entries.filter(isMain))
  const chunks = new Map([...main].map((file) => [file, 'package']))
  for (const entry of entries.filter((file) => !isMain(file))) {
    const part = [...loadedFiles([entry])].filter((file) => main.has(file))
    if (totalSize(part) < SMALL_PART * totalSize(main))
      for (const file of part) chunks.set(file, basename(entry, '.js'))
  }
  return chunks
}

function totalSize(files: Iterable<string>): number {
  return [...files].reduce((sum, file) => sum + statSync(file).size, 0)
}

/** Returns these files and all that they import by a relative name, directly or not. */
function loadedFiles(entries: readonly string[]): ReadonlySet<string> {
  const files = new Set<string>(entries)
  // A set also yields what is added to it meanwhile.
  for (const file of files) {
    for (const [, name] of readFileSync(file, 'utf8').matchAll(relativeImport)) files.add(join(file, '..', name!))
  }
  return files
}

function readBuilt(path: string, banner: string): { code: string; map: string } {
  return {
    code: readFileSync(path, 'utf8').replace(SHEBANG, '').replace(banner, ''),
    map: readFileSync(`${path}.map`, 'utf8'),
  }
}
