import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import type * as DebugInformation from '@tenon/binary/debug-info'
import { hex } from '../errors/describe.ts'
import { identityOf, type CodeAddress, type CodeModule } from './crash-record.ts'

/** The readers of debug information, which load with the first crash. */
const debugInformation = (): typeof DebugInformation =>
  createRequire(import.meta.url)('@tenon/binary/debug-info') as typeof DebugInformation

/** A function of native code that was running, as far as the files of the process say. */
export interface NativeFrame {
  /** The address in the process, in hexadecimal digits with `0x`. */
  readonly pc: string
  /** Whether the compiler has inlined the function into that of the next frame. */
  readonly inlined: boolean
  readonly function?: string
  /** The path of the source file, as the compiler knew it. */
  readonly file?: string
  readonly line?: number
  readonly column?: number
  /** The path of the library or program. */
  readonly library?: string
  /** The address in the library, in hexadecimal digits with `0x`. */
  readonly offset?: string
  readonly buildId?: string
}

/** Where files are found, and how long that may take. */
export interface FrameOptions {
  /** Directories with debug files, and with libraries of other machines. */
  readonly directories?: readonly string[]
  /** After this time in ms the rest of the frames gets no names. A file that is read then is still read. */
  readonly timeout?: number
}

/** Files below these directories are those of the process that asks, and not of the one that crashed. */
const OWN_FILES = ['/proc/', '/dev/']

/** The most functions of one frame. */
const MOST_INLINED = 32

/** Finds the functions and lines of frames. What the files do not say is missing in a frame, and nothing is thrown. */
export function locateFrames(
  addresses: readonly CodeAddress[],
  modules: readonly CodeModule[],
  { directories = [], timeout = Infinity }: FrameOptions = {},
): readonly NativeFrame[] {
  const until = performance.now() + timeout
  const isLimited = timeout !== Infinity
  const opened = new Map<CodeModule, DebugInformation.DebugInfo | undefined>()
  const open = (module: CodeModule): DebugInformation.DebugInfo | undefined => {
    if (!opened.has(module)) opened.set(module, performance.now() > until ? undefined : openModule(module, directories))
    return opened.get(module)
  }
  try {
    const shown = withoutCaller(addresses, modules)
    if (isLimited) openAll(shown, modules, open)
    return shown.flatMap(({ pc, isExact }): readonly NativeFrame[] => {
      const at = instructionOf({ pc, isExact })
      const module = moduleAt(modules, at)
      if (module === undefined) return [{ pc: hex(pc), inlined: false }]
      const place = {
        pc: hex(pc),
        library: module.path,
        offset: hex(pc - module.bias),
        ...(module.buildId === '' ? {} : { buildId: module.buildId }),
      }
      const found = locate(open(module), at - module.bias, isLimited && isOfSystem(module))
      return found.length === 0 ? [{ ...place, inlined: false }] : found.map((frame) => ({ ...place, ...frame }))
    })
  } finally {
    for (const info of opened.values()) info?.close()
  }
}

const isOfSystem = ({ path }: CodeModule): boolean => SYSTEM.test(basename(path))

/** Opens the files of frames, those of the system last, because reading the debug information of the C library may take all the time. */
function openAll(
  addresses: readonly CodeAddress[],
  modules: readonly CodeModule[],
  open: (module: CodeModule) => unknown,
): void {
  const used = addresses
    .map((address) => moduleAt(modules, instructionOf(address)))
    .filter((module) => module !== undefined)
  for (const isLast of [false, true]) for (const module of used) if (isOfSystem(module) === isLast) open(module)
}

/** The instruction of a frame. That of a call, before the address at which the call returns, may be the last one of its function. */
const instructionOf = ({ pc, isExact }: CodeAddress): bigint => (isExact ? pc : pc - 1n)

const moduleAt = (modules: readonly CodeModule[], at: bigint): CodeModule | undefined =>
  modules.find(({ start, end }) => at >= start && at < end)

/** The frames without the outermost ones that are those of Tenon, which called the kernel, and of the system, which started the thread. */
function withoutCaller(addresses: readonly CodeAddress[], modules: readonly CodeModule[]): readonly CodeAddress[] {
  const last = addresses.findLastIndex((address) => {
    const module = moduleAt(modules, instructionOf(address))
    return module !== undefined && !isOfSystem(module) && !TENON.test(basename(module.path))
  })
  return last === -1 ? addresses : addresses.slice(0, last + 1)
}

/** Opens the file of a module, unless it is another file now. On another machine, a directory may have it. */
function openModule(module: CodeModule, directories: readonly string[]): DebugInformation.DebugInfo | undefined {
  const { path, buildId } = module
  const isForeign = OWN_FILES.some((directory) => path.startsWith(directory))
  if (buildId === '') return isForeign || !isUnchanged(module) ? undefined : openFile(path, { directories })
  const others = directories.map((directory) => join(directory, basename(path)))
  for (const one of isForeign ? others : [path, ...others]) {
    const info = openFile(one, { buildId, directories })
    if (info !== undefined) return info
  }
  return undefined
}

function openFile(path: string, options: DebugInformation.DebugInfoOptions): DebugInformation.DebugInfo | undefined {
  try {
    return debugInformation().DebugInfo.open(path, options)
  } catch {
    // The file was removed, replaced or is damaged.
    return undefined
  }
}

function isUnchanged({ path, identity }: CodeModule): boolean {
  try {
    const stats = statSync(path, { bigint: true })
    return stats.isFile() && identityOf(stats.size, stats.ino, stats.mtimeMs) === identity
  } catch {
    return false
  }
}

/** The functions at an address, without what is unknown. @param isBrief whether only the symbol is looked for, which is fast */
function locate(
  info: DebugInformation.DebugInfo | undefined,
  address: bigint,
  isBrief: boolean,
): readonly Omit<NativeFrame, 'pc' | 'library' | 'offset' | 'buildId'>[] {
  try {
    if (isBrief) {
      const name = info?.symbol(address)?.name
      return name === undefined ? [] : [{ function: printable(name), inlined: false }]
    }
    return (info?.locate(address) ?? [])
      .slice(0, MOST_INLINED)
      .map(({ function: name, file, line, column, inlined }) => ({
        ...(name === undefined ? {} : { function: printable(name) }),
        ...(file === undefined ? {} : { file: printable(file) }),
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
        inlined,
      }))
  } catch {
    return []
  }
}

/** Names come from files, and are printed on terminals. */
const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, '?')

/** The function and the line of a frame: `deep (crash.c:3)`, `deep`, or `?`. */
export function placeOfFrame({ function: name = '?', file, line }: NativeFrame): string {
  return file === undefined ? name : `${name} (${basename(file)}${line === undefined ? '' : `:${line}`})`
}

/** The line of a frame: `deep crash.c:3 (libcrash.so+0x1125)`. */
export function describeFrame(frame: NativeFrame): string {
  const { function: name = '?', file, line, library, offset, pc, inlined } = frame
  const source = file === undefined ? '' : ` ${basename(file)}${line === undefined ? '' : `:${line}`}`
  const code = library === undefined ? pc : `${basename(printable(library))}+${offset}`
  return `${name}${source} (${inlined ? 'inlined, ' : ''}${code})`
}

/** The libraries of the system, in which a fault is that of their caller. */
const SYSTEM =
  /^(?:libc|libm|libpthread|libstdc\+\+|libc\+\+|libc\+\+abi|libgcc_s|libunwind|ld-linux.*|ld-musl.*|linux-vdso)[.-]/

/** The libraries and programs of Tenon, and those in which it runs. */
const TENON =
  /^(?:libtenon(?:_guard|_packed|_tensorflow)?\.(?:so|dylib)|libtvm_(?:ffi|runtime)\.so|(?:tenon-host|tenon\.node|node|bun|deno)$)/

/** The innermost frame that is not in a library of the system, if its function is known. */
export function frameOfFault(frames: readonly NativeFrame[]): NativeFrame | undefined {
  const frame = frames.find(({ library }) => library !== undefined && !SYSTEM.test(basename(library)))
  return frame?.function === undefined ? undefined : frame
}
