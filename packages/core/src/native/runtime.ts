/**
 * The JavaScript runtime of this process, and what it can do. No other source asks which one it is: this file has a property for each
 * difference, and the statement at the start of each built file, which refuses versions that are too old, is made by the build.
 */

/** The runtime of this process. `tenon doctor` prints it. */
export interface RuntimeInfo {
  readonly name: 'Node.js' | 'Electron' | 'Bun' | 'Deno'
  readonly version: string
  /** The things that Tenon cannot do there, as clauses without a subject, such as "has no buffers over native memory". */
  readonly missing: readonly string[]
}

export interface Runtime extends RuntimeInfo {
  /** The alignment in bytes that the engine gives the memory of every ArrayBuffer. */
  readonly bufferAlignment: 8 | 16
  /** Whether `Buffer.prototype.compare` takes any ranges. Deno refuses a source that ends beyond the size of the target. */
  readonly comparesRanges: boolean
  /** Whether the diagnostic report names the version of glibc that the process uses. That of Deno always names 2.38. */
  readonly reportsGlibc: boolean
  /** Whether koffi runs. It needs the libuv of Node.js, and Bun ends the process where libuv is missing. */
  readonly hasKoffi: boolean
  /** Whether a stream of `node:net` reads from a descriptor that it is given. In Bun, it receives nothing. */
  readonly readsDescriptors: boolean
  /** Returns the arguments that run a file, with flags of the engine. */
  fileArguments(flags: readonly string[], path: string): string[]
  /** Returns the arguments that run the text of a module, with flags of Node.js. */
  moduleArguments(flags: readonly string[], source: string): string[]
}

const asNode = {
  bufferAlignment: 16,
  comparesRanges: true,
  reportsGlibc: true,
  hasKoffi: true,
  readsDescriptors: true,
  fileArguments: (flags, path) => [...flags, path],
  moduleArguments: (flags, source) => [...flags, '--input-type=module', '--eval', source],
} as const satisfies Partial<Runtime>

/** Flags of Node.js that hide its own warnings. */
const HIDES_WARNINGS = /^--(no-warnings$|disable-warning=)/

/** Deno translates flags of Node.js, but runs the text behind `--eval` as a script. Its own commands have other flags. */
const asDeno: Pick<Runtime, 'fileArguments' | 'moduleArguments'> = {
  fileArguments: (flags, path) => ['run', '--allow-all', ...engineFlags(flags), path],
  moduleArguments(flags, source) {
    const own = flags.filter((flag) => flag.startsWith('--conditions='))
    const ofEngine = flags.filter((flag) => !own.includes(flag) && !HIDES_WARNINGS.test(flag))
    return ['eval', ...own, ...engineFlags(ofEngine), source]
  },
}

const engineFlags = (flags: readonly string[]): string[] =>
  flags.length === 0 ? [] : [`--v8-flags=${flags.join(',')}`]

function findRuntime(versions: NodeJS.ProcessVersions): Runtime {
  const { bun, deno, electron, node } = versions
  if (bun !== undefined) {
    return {
      ...asNode,
      name: 'Bun',
      version: bun,
      missing: ['makes no buffer larger than 4 GiB', 'does not run koffi', 'does not connect to drivers of models'],
      bufferAlignment: 8,
      hasKoffi: false,
      readsDescriptors: false,
    }
  }
  if (deno !== undefined)
    return {
      ...asNode,
      ...asDeno,
      name: 'Deno',
      version: deno,
      missing: [],
      comparesRanges: false,
      reportsGlibc: false,
    }
  if (electron !== undefined) {
    return { ...asNode, name: 'Electron', version: electron, missing: ['has no buffers over native memory'] }
  }
  return { ...asNode, name: 'Node.js', version: node, missing: [] }
}

/** The runtime of this process. */
export const runtime: Runtime = findRuntime(process.versions)
