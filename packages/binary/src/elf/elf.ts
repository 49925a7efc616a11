import { elfMachines, elfMachines64, machineName } from '../architecture.ts'
import type { BinaryInfo } from '../binary-info.ts'
import type { BinaryReader } from '../binary-reader.ts'
import { Tag, readElfDynamic, type ElfDynamic } from './elf-dynamic.ts'
import { PT_INTERP, SHT_SYMTAB, readElfHeader, type ElfHeader } from './elf-header.ts'
import { readBuildId } from './elf-notes.ts'
import { readElfSymbols } from './elf-symbols.ts'
import { minimumGlibc, readDefinedVersions, readNeededVersions, type NeededVersion } from './elf-versions.ts'

export const elfMagic = 0x7f454c46

/** The flag in DT_FLAGS_1 of a position-independent program, which has the type of a shared library. */
const DF_1_PIE = 0x08000000

const kinds: Readonly<Record<number, BinaryInfo['kind']>> = { 1: 'object', 2: 'executable', 3: 'shared' }

/** The dependencies of a file. Reading them without the symbols is fast even for large libraries. */
export type ElfDependencies = Pick<BinaryInfo, 'arch' | 'bits' | 'interpreter' | 'needed' | 'rpath' | 'runpath'>

/** Reads an ELF file (System V ABI, gABI 4.1 with the GNU extensions). */
export function readElf(file: BinaryReader): BinaryInfo {
  const header = readElfHeader(file)
  const dynamic = readElfDynamic(header)
  const versions = readNeededVersions(header, dynamic)
  const dependencies = dependenciesOf(header, dynamic)
  const glibc = minimumGlibc(versions.values())
  const libc = libcOf(dependencies, glibc, versions.values())
  const soname = dynamic.texts(Tag.soname)[0]
  const buildId = readBuildId(header)
  return {
    format: 'elf',
    kind: ((dynamic.value(Tag.flags1) ?? 0) & DF_1_PIE) !== 0 ? 'executable' : (kinds[header.type] ?? 'other'),
    ...dependencies,
    architectures: [dependencies.arch],
    endianness: header.reader.littleEndian ? 'little' : 'big',
    ...(libc === undefined ? {} : { libc }),
    ...(glibc === undefined ? {} : { minimumGlibc: glibc }),
    ...(soname === undefined ? {} : { soname }),
    ...(buildId === undefined ? {} : { buildId }),
    stripped: !header.sections.some(({ type }) => type === SHT_SYMTAB),
    ...readElfSymbols(header, dynamic, versions, readDefinedVersions(header, dynamic)),
  }
}

export function readElfDependencies(file: BinaryReader): ElfDependencies {
  const header = readElfHeader(file)
  return dependenciesOf(header, readElfDynamic(header))
}

function dependenciesOf(header: ElfHeader, dynamic: ElfDynamic): ElfDependencies {
  const directories = (tag: number): string[] => dynamic.texts(tag).join(':').split(':').filter(Boolean)
  const interpreter = header.segments.find((candidate) => candidate.type === PT_INTERP)
  return {
    ...(interpreter && {
      interpreter: header.reader.fields(interpreter.offset, interpreter.fileSize, 'interpreter name').text(0),
    }),
    arch: machineName(header.bits === 64 ? elfMachines64 : elfMachines, header.machine),
    bits: header.bits,
    needed: dynamic.texts(Tag.needed),
    rpath: directories(Tag.rpath),
    runpath: directories(Tag.runpath),
  }
}

function libcOf(
  { needed, interpreter }: ElfDependencies,
  glibc: string | undefined,
  versions: Iterable<NeededVersion>,
): BinaryInfo['libc'] {
  if (glibc !== undefined || needed.includes('libc.so.6')) return 'glibc'
  const names = [...needed, interpreter ?? '']
  if (names.some((name) => /(^|\/)(libc\.musl-|ld-musl-)/.test(name))) return 'musl'
  if (interpreter?.startsWith('/system/bin/linker')) return 'bionic'
  for (const { version } of versions) if (version === 'LIBC') return 'bionic'
  // musl's compiler wrapper links plain `libc.so`. Android's does too, but its libraries have versions.
  if (needed.includes('libc.so')) return 'musl'
  if (names.some((name) => /(^|\/)ld-linux/.test(name))) return 'glibc'
  return undefined
}
