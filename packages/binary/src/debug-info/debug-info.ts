import { BinaryFormatError } from '../binary-format-error.ts'
import { demangle } from '../demangle/demangle.ts'
import { BudgetError } from '../dwarf/budget.ts'
import { Dwarf, type DwarfFrame } from '../dwarf/dwarf.ts'
import { DwarfFile } from '../dwarf/dwarf-file.ts'
import { openSymbolLookup, type ElfSymbolLookup, type FoundSymbol } from '../elf/elf-symbol-lookup.ts'
import { SHT_SYMTAB } from '../elf/elf-header.ts'
import { SHT_NOBITS } from '../elf/elf-sections.ts'
import { checksumOf, firstOf, pathsOfBuildId, readDebugLink, readSharedLink } from './companion-files.ts'
import { openElfFile, type ElfFile } from './elf-file.ts'

/** A function at an address of native code, and the place in the source. */
export interface SourceFrame {
  /** The name for people, such as `vector<float>::at(unsigned long)`. */
  readonly function: string | undefined
  /** The name in the symbol table. */
  readonly linkageName: string | undefined
  /** The path of the source file, which is relative if the compiler was not told where it ran. */
  readonly file: string | undefined
  readonly line: number | undefined
  readonly column: number | undefined
  /** Whether the compiler has inlined the function into that of the next frame. */
  readonly inlined: boolean
}

/** Options of {@link DebugInfo.open}: the file that is expected, and the places of its debug files. */
export interface DebugInfoOptions {
  /** The build ID that the file must have, in hexadecimal digits. */
  readonly buildId?: string | undefined
  /**
   * Directories with debug files, which are searched before `/usr/lib/debug`: by the build ID in `.build-id`, and by the name. Files of units
   * (`.dwo`) that are not where the compiler wrote them are searched there by their name.
   */
  readonly directories?: readonly string[] | undefined
}

/** The largest address that a number of JavaScript represents exactly. */
const MAX_ADDRESS = BigInt(Number.MAX_SAFE_INTEGER)

/** An object file, which has no addresses yet. */
const ET_REL = 1

/**
 * Finds the functions and the lines of the source at addresses of an ELF library or program: from its DWARF, or that of its separate debug
 * file, and from its symbols. The files are read as far as an address needs them. They stay open until {@link DebugInfo.close}.
 *
 * What cannot be found is undefined, and {@link DebugInfo.limitation} says why the file has no lines. Libraries of macOS and Windows give
 * nothing.
 *
 * @example
 * using info = DebugInfo.open('/usr/lib/libexample.so')
 * info.locate(0x1125) // [{ function: 'deep', file: '/src/example.c', line: 3, ... }]
 */
export class DebugInfo {
  /** The build ID of the file, in hexadecimal digits. */
  readonly buildId: string | undefined
  readonly #files: readonly ElfFile[]
  readonly #symbols: ElfSymbolLookup | undefined
  #dwarf: Dwarf | undefined
  #limitation: string | undefined

  private constructor(
    files: readonly ElfFile[],
    parts: {
      readonly buildId?: string | undefined
      readonly symbols?: ElfSymbolLookup | undefined
      readonly dwarf?: Dwarf | undefined
      readonly limitation?: string | undefined
    },
  ) {
    this.#files = files
    this.buildId = parts.buildId
    this.#symbols = parts.symbols
    this.#dwarf = parts.dwarf
    this.#limitation = parts.limitation
  }

  /**
   * Opens a file. If the build ID of the file differs from `options.buildId`, because the file was replaced, the debug file of this build ID is
   * opened instead.
   *
   * @throws {BinaryFormatError} if the file is not a library, is damaged, or has another build ID and there is no debug file
   * @throws the system's error (ENOENT, EACCES, ...) if it cannot be opened
   */
  static open(path: string, options: DebugInfoOptions = {}): DebugInfo {
    const directories = options.directories ?? []
    const files: ElfFile[] = []
    try {
      const file = openMain(path, options.buildId?.toLowerCase(), directories)
      if (typeof file === 'string') {
        return new DebugInfo([], {
          limitation: `symbols and lines of ${file === 'pe' ? 'PE' : 'Mach-O'} files are not read`,
        })
      }
      files.push(file)
      if (file.header.type === ET_REL) {
        return new DebugInfo(files, {
          buildId: file.buildId,
          limitation: 'the file is not linked, so it has no addresses',
        })
      }
      const debugFile = hasDwarf(file) ? file : findDebugFile(file, directories)
      if (debugFile !== undefined && debugFile !== file) files.push(debugFile)
      const supplement = debugFile && findSupplement(debugFile, directories)
      if (supplement !== undefined) files.push(supplement)
      const dwarf =
        debugFile && new Dwarf(new DwarfFile(debugFile), supplement && new DwarfFile(supplement), directories)
      const limitation = dwarf === undefined ? 'the file has no debug information; compile it with -g' : undefined
      return new DebugInfo(files, { buildId: file.buildId, symbols: symbolsOf(file, debugFile), dwarf, limitation })
    } catch (error) {
      for (const file of files) file.close()
      throw error
    }
  }

  /** The reason why the file has no lines, or why a lookup found no line or no inlined functions. Undefined if no such reason is known. */
  get limitation(): string | undefined {
    return this.#limitation
  }

  /**
   * The functions at an address, innermost first: the functions that the compiler has inlined there before the function that contains them.
   * An empty array if nothing is known about the address.
   *
   * @param address as the file was linked: the program counter minus the address at which the file is loaded. For the caller of a function,
   * subtract 1 from the return address, so that it belongs to the call.
   */
  locate(address: number | bigint): readonly SourceFrame[] {
    const at = toNumber(address)
    if (at === undefined) return []
    const frames = this.#locate(at)
    const outermost = frames.at(-1)
    const symbol = outermost?.linkageName === undefined ? this.symbol(outermost?.start ?? at)?.name : undefined
    if (outermost === undefined && symbol === undefined) return []
    const found = outermost === undefined ? [NOTHING] : frames
    return found.map(({ name, linkageName, file, line, column, inlined }, index) => {
      // Compilers leave out the linkage name of static functions, which the symbol has.
      const linkage = linkageName ?? (index === found.length - 1 ? symbol : undefined)
      return { function: nameFor(linkage, name), linkageName: linkage, file, line, column, inlined }
    })
  }

  /** The symbol that contains an address, and the number of bytes from its start. */
  symbol(address: number | bigint): FoundSymbol | undefined {
    const at = toNumber(address)
    return at === undefined ? undefined : this.#symbols?.find(at)
  }

  #locate(address: number): readonly DwarfFrame[] {
    try {
      const frames = this.#dwarf?.locate(address) ?? []
      const missing = this.#dwarf?.missing
      if (missing !== undefined) {
        this.#limitation = `the file ${missing} with the functions of this address was not found, so inlined functions are missing`
      }
      return frames
    } catch (error) {
      if (!(error instanceof BinaryFormatError)) throw error
      this.#limitation = `the debug information is damaged: ${error.sentence}`
      // Each further lookup would take as long.
      if (error instanceof BudgetError) {
        this.#dwarf?.close()
        this.#dwarf = undefined
      }
      return []
    }
  }

  /** Closes the files. Lookups throw afterwards. */
  close(): void {
    this.#dwarf?.close()
    for (const file of this.#files) file.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

const NOTHING: DwarfFrame = {
  name: undefined,
  linkageName: undefined,
  file: undefined,
  line: undefined,
  column: undefined,
  inlined: false,
  start: undefined,
}

/** The C++ or Rust name of a symbol, or else the name in the source. */
function nameFor(linkageName: string | undefined, name: string | undefined): string | undefined {
  const readable = linkageName === undefined ? undefined : demangle(linkageName)
  return readable === undefined || readable === linkageName ? (name ?? readable) : readable
}

function toNumber(address: number | bigint): number | undefined {
  if (typeof address === 'bigint') return address >= 0n && address <= MAX_ADDRESS ? Number(address) : undefined
  return Number.isSafeInteger(address) && address >= 0 ? address : undefined
}

/** The file, or the debug file of the wanted build ID if the file has another one. */
function openMain(
  path: string,
  buildId: string | undefined,
  directories: readonly string[],
): ReturnType<typeof openElfFile> {
  const file = buildId === undefined ? openElfFile(path) : firstOf([path], openElfFile)
  if (buildId === undefined || typeof file === 'string') return file ?? openElfFile(path)
  if (file?.buildId === buildId) return file
  file?.close()
  const debugFile = findByBuildId(buildId, directories)
  if (debugFile !== undefined) return debugFile
  if (file === undefined) return openElfFile(path)
  throw new BinaryFormatError(
    `${path} must have the build ID ${buildId}, got ${file.buildId ?? 'no build ID'}: the file was replaced`,
    {
      hint: 'Open the file that was loaded, or name a directory with its debug file.',
      details: { path, expected: buildId, received: file.buildId },
    },
  )
}

function hasDwarf({ sections }: ElfFile): boolean {
  return ['.debug_info', '.zdebug_info', '.debug_line', '.zdebug_line'].some((name) => {
    const section = sections.find(name)
    return section !== undefined && section.type !== SHT_NOBITS
  })
}

function findDebugFile(file: ElfFile, directories: readonly string[]): ElfFile | undefined {
  const { buildId } = file
  const byId = buildId === undefined ? undefined : findByBuildId(buildId, directories)
  if (byId !== undefined) return byId
  const link = readDebugLink(file, directories)
  if (link === undefined) return undefined
  return firstOf(link.paths, (path) =>
    accepted(path, (found) => {
      if (!hasDwarf(found)) return false
      if (buildId !== undefined && found.buildId !== undefined) return buildId === found.buildId
      return checksumOf(found.source) === link.checksum
    }),
  )
}

function findByBuildId(buildId: string, directories: readonly string[]): ElfFile | undefined {
  return firstOf(pathsOfBuildId(buildId, directories), (path) => accepted(path, (found) => found.buildId === buildId))
}

function findSupplement(file: ElfFile, directories: readonly string[]): ElfFile | undefined {
  const link = readSharedLink(file, directories)
  return link && firstOf(link.paths, (path) => accepted(path, (found) => found.buildId === link.buildId))
}

function accepted(path: string, accept: (file: ElfFile) => boolean): ElfFile | undefined {
  const file = openElfFile(path)
  if (typeof file === 'string') return undefined
  try {
    if (accept(file)) return file
  } catch (error) {
    file.close()
    throw error
  }
  file.close()
  return undefined
}

/** The static symbols of the file or of its debug file, or else the dynamic symbols. */
function symbolsOf(file: ElfFile, debugFile: ElfFile | undefined): ElfSymbolLookup | undefined {
  const isComplete = ({ header }: ElfFile): boolean => header.sections.some(({ type }) => type === SHT_SYMTAB)
  return openSymbolLookup(
    (!isComplete(file) && debugFile !== undefined && isComplete(debugFile) ? debugFile : file).header,
  )
}
