import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { platformLibrary } from '@tenon/core'
import { coreFiles, type BundledFiles } from '@tenon/core/internal'
import { projectLibrary } from '../project/project-library.ts'
import { sidecarPath } from '../signatures/sidecar.ts'
import { libraryUrl } from './library-url.ts'

/** Modules that bundles with libraries import: the files of the core, or of the library at the path behind the prefix. */
export const FILES_PREFIX = 'tenon-files:'
const CORE = 'core'

/** The module that has {@link EXTRACT}, which a bundler finds from this package. */
export const CORE_MODULE = '@tenon/core/internal'
export const EXTRACT_MODULE = 'tenon:extract'
const EXTRACT = 'bundledPath'

/** The text in the core that stands for its own files. */
const placeOfCore = /(["'])tenon:files-of-the-core\1/g

/** The paths of libraries as `tenon pack` and `tenon build` write them. */
const packaged = /\$\$platformLibrary\(\s*import\.meta\.url,\s*(\{[^{}]*\})\s*\)/g
const built = /\$\$projectLibrary\(\s*import\.meta\.url,\s*(['"])([\w.-]+)\1\s*\)/g

/** V8 makes no longer strings than twice this, and the text of a bundle is one. */
const MOST_TEXT = 2 ** 28

/**
 * Makes a module take its libraries from the bundle.
 *
 * @returns undefined if the code names no library that exists
 */
export function takeFromBundle(code: string, module: string): string | undefined {
  const imports = new Map<string, string>()
  const nameOf = (file: string): string => {
    const known = imports.get(file)
    if (known !== undefined) return known
    const name = `$$tenonFiles${imports.size}`
    imports.set(file, name)
    return name
  }
  const url = pathToFileURL(module)
  const pathIn = (library: string): string => `$$tenonPath(${nameOf(library)})`
  const rewritten = code
    .replaceAll(placeOfCore, () => nameOf(CORE))
    .replaceAll(libraryUrl, (expression, _quote, place: string) => {
      const library = fileURLToPath(new URL(place, url))
      return existsSync(library) ? `$$tenonUrl(${pathIn(library)})` : expression
    })
    .replaceAll(packaged, (_, options: string) => pathIn(platformLibrary(url.href, readOptions(options))))
    .replaceAll(built, (_, _quote, library: string) => pathIn(projectLibrary(url.href, library)))
  if (imports.size === 0) return undefined
  const lines = [...imports].map(([file, name]) => `import ${name} from ${JSON.stringify(FILES_PREFIX + file)};`)
  if (rewritten.includes('$$tenonPath(')) lines.push(`import { ${EXTRACT} as $$tenonPath } from '${EXTRACT_MODULE}';`)
  if (rewritten.includes('$$tenonUrl(')) lines.push(`import { pathToFileURL as $$tenonUrl } from 'node:url';`)
  // Imports may be anywhere, and the code may begin with a directive or the name of an interpreter.
  return `${rewritten}\n${lines.join('\n')}\n`
}

/** The options of a written call, whose values are texts and lists of texts. */
function readOptions(text: string): Parameters<typeof platformLibrary>[1] {
  const json = text
    .replaceAll(/'([^'"\\]*)'/g, '"$1"')
    .replaceAll(/([{,]\s*)(\w+):/g, '$1"$2":')
    .replaceAll(/,(\s*[}\]])/g, '$1')
  return JSON.parse(json) as Parameters<typeof platformLibrary>[1]
}

/** The text of a module with files. @param file what is behind the prefix @throws {Error} if a library is too large */
export function filesModule(file: string): string {
  if (file !== CORE) return moduleWith([file, sidecarPath(file)].filter((path) => existsSync(path)))
  const { version, paths } = coreFiles()
  return moduleWith(paths, { version })
}

function moduleWith(paths: readonly string[], more: { readonly version?: string } = {}): string {
  const bundled: BundledFiles = {
    ...more,
    platform: `${process.platform}-${process.arch}`,
    files: Object.fromEntries(paths.map((path) => [basename(path), bundledFile(path)])),
  }
  return `export default ${JSON.stringify(bundled)}`
}

function bundledFile(path: string): BundledFiles['files'][string] {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const { constants, deflateRawSync } = process.getBuiltinModule('node:zlib')
  const contents = readFileSync(path)
  const text = deflateRawSync(contents, { level: constants.Z_BEST_COMPRESSION }).toString('base64')
  if (text.length > MOST_TEXT) {
    throw new Error(
      `${path} cannot be inside of a bundle, because it has ${Math.ceil(text.length / 2 ** 20)} MiB compressed and in ` +
        `base64, at most ${MOST_TEXT / 2 ** 20} MiB: open it by a path outside`,
    )
  }
  return { sha256: createHash('sha256').update(contents).digest('hex'), size: contents.length, text }
}
