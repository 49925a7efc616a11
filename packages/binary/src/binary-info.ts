/** The kind of a symbol, as far as the file records it. */
export type SymbolKind = 'function' | 'object' | 'other'

/** A symbol that other files can look up. */
export interface ExportedSymbol {
  readonly name: string
  readonly kind: SymbolKind
  /** The address, relative to the start of the loaded image. */
  readonly address: bigint
  /** The size in bytes; absent if the format does not record it (Mach-O, PE). */
  readonly byteSize?: number
  /** Whether another definition takes precedence, as for C++ templates and inline functions. */
  readonly weak: boolean
}

/** A symbol that the loader must find elsewhere. */
export interface ImportedSymbol {
  readonly name: string
  /** Whether the import may stay unresolved. */
  readonly weak: boolean
  /** The required symbol version, such as `GLIBC_2.34` (ELF). */
  readonly version?: string
  /** The library that must export it, if the format records that (ELF versions, Mach-O, PE). */
  readonly library?: string
}

/** The formats of shared libraries on Linux, macOS and Windows. */
export type BinaryFormat = 'elf' | 'mach-o' | 'pe'

/** The contents of a compiled file's headers, read without loading or executing it. */
export interface BinaryInfo {
  readonly format: BinaryFormat
  readonly kind: 'shared' | 'executable' | 'object' | 'other'
  /** The processor, by Node's name (`x64`, `arm64`, ...), or `unknown (machine 0x...)`. */
  readonly arch: string
  /** All architectures of a Mach-O file; only `arch` for files in other formats. */
  readonly architectures: readonly string[]
  readonly bits: 32 | 64
  readonly endianness: 'little' | 'big'
  /** The C library that the file was linked against; absent if the file has no C library, or does not record it. */
  readonly libc?: 'glibc' | 'musl' | 'bionic'
  /** The oldest glibc that has every required symbol version, such as `2.34`. */
  readonly minimumGlibc?: string
  /** The oldest macOS for which the file was built, such as `11.0` (Mach-O). */
  readonly minimumMacos?: string
  /** Whether the file has a code signature (Mach-O). */
  readonly signed?: boolean
  /** Whether the file contains no symbols for debuggers. */
  readonly stripped?: boolean
  /** The path of the loader, which executables record. */
  readonly interpreter?: string
  /** The name by which other files refer to this file: soname (ELF), install name (Mach-O) or DLL name (PE). */
  readonly soname?: string
  /** The build ID in hexadecimal digits, which the linker derives from the contents; files without one lack the property (ELF). */
  readonly buildId?: string
  /** The libraries that are required for loading, in order, without libraries that are loaded at first use. */
  readonly needed: readonly string[]
  /** The search directories before LD_LIBRARY_PATH (DT_RPATH); for Mach-O all LC_RPATH entries. */
  readonly rpath: readonly string[]
  /** The search directories after LD_LIBRARY_PATH (DT_RUNPATH, ELF). */
  readonly runpath: readonly string[]
  readonly exports: readonly ExportedSymbol[]
  /**
   * The exported symbols with their versions, such as `memcpy@GLIBC_2.2.5`. Those of old versions are here alone. Absent if the symbols have no
   * versions (ELF).
   */
  readonly versionedExports?: readonly string[]
  readonly imports: readonly ImportedSymbol[]
}
