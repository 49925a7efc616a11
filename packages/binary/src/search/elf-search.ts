import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { BinaryReader } from '../binary-reader.ts'
import { withFileSource } from '../byte-source.ts'
import { readElfDependencies, type ElfDependencies } from '../elf/elf.ts'
import { parseLdSoCache } from './ld-so-cache.ts'
import { provided, type LibrarySearch, type Requester } from './library-search.ts'

/** Debian's names for the directories of each processor. */
const triples: Readonly<Record<string, string>> = {
  arm: 'arm-linux-gnueabihf',
  arm64: 'aarch64-linux-gnu',
  ia32: 'i386-linux-gnu',
  loong64: 'loongarch64-linux-gnu',
  ppc64: 'powerpc64le-linux-gnu',
  riscv64: 'riscv64-linux-gnu',
  s390x: 's390x-linux-gnu',
  x64: 'x86_64-linux-gnu',
}

function defaultDirectories(arch: string): string[] {
  const triple = triples[arch]
  const own = triple === undefined ? [] : [`/lib/${triple}`, `/usr/lib/${triple}`]
  return [...own, '/lib64', '/usr/lib64', '/lib', '/usr/lib']
}

/**
 * The search of the loaders of glibc and musl: inherited and own RPATH (if there is no RUNPATH), LD_LIBRARY_PATH, RUNPATH,
 * then the cache and the default directories, skipping files for another processor (ld.so(8)).
 */
export function elfSearch(environment: NodeJS.ProcessEnv): LibrarySearch {
  const system = systemPaths()
  const fromEnvironment = (environment['LD_LIBRARY_PATH'] ?? '').split(/[:;]/).filter(Boolean)
  const loaded = loadedPaths()
  return {
    read: readDependencies,
    loadedPath: (name) => loaded.get(name),
    handedDown: (requester) => [...ownRpath(requester), ...requester.inherited],
    find(name, requester) {
      if (name.includes('/')) return expand(name, requester.path).find((path) => fits(path, requester))
      if (loaded.has(name)) return provided
      const directories = [
        ...ownRpath(requester),
        ...(requester.runpath.length === 0 ? requester.inherited : []),
        ...fromEnvironment,
        ...requester.runpath.flatMap((directory) => expand(directory, requester.path)),
      ]
      const last = system.directories ?? defaultDirectories(requester.arch)
      const inEach = (paths: readonly string[]): string[] => paths.map((directory) => join(directory, name))
      const candidates = [...inEach(directories), ...(system.cache.get(name) ?? []), ...inEach(last)]
      return candidates.find((candidate) => fits(candidate, requester))
    },
  }
}

function readDependencies(path: string): ElfDependencies {
  return withFileSource(path, (source) => readElfDependencies(new BinaryReader(source, true)))
}

const ownRpath = (requester: Requester): string[] =>
  requester.runpath.length > 0 ? [] : requester.rpath.flatMap((directory) => expand(directory, requester.path))

/** Expands the tokens in search directories. `$LIB` becomes each of the names that systems use. */
function expand(text: string, path: string): string[] {
  const origin = text.replace(/\$(ORIGIN|\{ORIGIN\})/g, dirname(resolve(path)))
  if (!/\$(LIB|\{LIB\})/.test(origin)) return [origin]
  return ['lib', 'lib64', `lib/${triples[process.arch] ?? ''}`].map((name) => origin.replace(/\$(LIB|\{LIB\})/g, name))
}

function fits(path: string, requester: Requester): boolean {
  try {
    const { arch, bits } = readDependencies(path)
    return arch === requester.arch && bits === requester.bits
  } catch {
    return false
  }
}

/** The cache that glibc searches, or the list of directories that musl searches if this process runs on musl. */
function systemPaths(): { cache: Map<string, string[]>; directories?: string[] } {
  const musl = /\/ld-musl-(.+)\.so/.exec(readDependencies(process.execPath).interpreter ?? '')?.[1]
  if (musl !== undefined) {
    const file = `/etc/ld-musl-${musl}.path`
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '/lib:/usr/local/lib:/usr/lib'
    return { cache: new Map(), directories: text.split(/[:\n]/).filter(Boolean) }
  }
  const cache = '/etc/ld.so.cache'
  return { cache: existsSync(cache) ? withFileSource(cache, (source) => parseLdSoCache(source)) : new Map() }
}

/** The paths of the libraries in this process, by their names. The loader does not search for these names again. */
function loadedPaths(): Map<string, string> {
  const maps = existsSync('/proc/self/maps') ? readFileSync('/proc/self/maps', 'utf8') : ''
  return new Map(Array.from(maps.matchAll(/\/.*\.so\b.*$/gm), ([path]) => [basename(path), path]))
}
