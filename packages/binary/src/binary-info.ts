/** What a symbol names, as far as the file says. */
export type SymbolKind = 'function' | 'object' | 'other'

/** A symbol that other files can look up. */
export interface ExportedSymbol {
  readonly name: string
  readonly kind: SymbolKind
  /** Relative to the start of the loaded image. */
  readonly address: bigint
  /** In bytes; absent where the format doesn't record it (Mach-O, PE). */
  readonly byteSize?: number
  /** A weak definition gives way to another one; C++ templates and inline functions are exported so. */
  readonly weak: boolean
}

/** A symbol that the loader must find elsewhere. */
export interface ImportedSymbol {
  readonly name: string
  /** A weak import may stay unresolved. */
  readonly weak: boolean
  /** The symbol version asked for, such as `GLIBC_2.34` (ELF). */
  readonly version?: string
  /** The library it must come from, where the format says so (ELF versions, Mach-O, PE). */
  readonly library?: string
}

/** The formats of shared libraries: Linux's, macOS's and Windows's. */
export type BinaryFormat = 'elf' | 'mach-o' | 'pe'

/** What the headers of a compiled file say. Nothing in it was executed or loaded. */
export interface BinaryInfo {
  readonly format: BinaryFormat
  readonly kind: 'shared' | 'executable' | 'object' | 'other'
  /** Under Node's names (`x64`, `arm64`, ...); `unknown (machine 0x...)` for a processor without one. */
  readonly arch: string
  /** All architectures of a Mach-O file with several, this one's among them; elsewhere just this one. */
  readonly architectures: readonly string[]
  readonly bits: 32 | 64
  readonly endianness: 'little' | 'big'
  /** The C library it was linked against; absent if it uses none or the file doesn't tell. */
  readonly libc?: 'glibc' | 'musl' | 'bionic'
  /** The oldest glibc that has every symbol version asked for, such as `2.34`. */
  readonly minimumGlibc?: string
  /** The program that loads it (executables). */
  readonly interpreter?: string
  /** The name by which others ask for it: soname (ELF), install name (Mach-O), DLL name (PE). */
  readonly soname?: string
  /** The libraries without which it can't be loaded, in order; those looked for at first use are not among them. */
  readonly needed: readonly string[]
  /** Search directories of the old kind, before LD_LIBRARY_PATH; for Mach-O all of its LC_RPATH entries. */
  readonly rpath: readonly string[]
  /** Search directories of the new kind, after LD_LIBRARY_PATH (ELF). */
  readonly runpath: readonly string[]
  readonly exports: readonly ExportedSymbol[]
  readonly imports: readonly ImportedSymbol[]
}
