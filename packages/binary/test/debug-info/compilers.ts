import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Versions of clang whose debug information is compared. */
const CLANGS = ['14', '15', '16', '17', '18', '19']

const isInstalled = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0

/** The compilers of programs with faults that this machine has, and the readers that their lines are compared with. */
export interface Compilers {
  /** Names of gcc and of versions of clang. */
  readonly c: readonly string[]
  readonly rust: string | undefined
  /** The prefix of gcc and binutils for arm64. */
  readonly arm64: string | undefined
  /** Reads the ranges of clang's inlined functions in DWARF 5 (DW_FORM_rnglistx), which addr2line 2.40 leaves out. */
  readonly llvmAddr2line: string | undefined
  /** Sentences about what is missing. */
  readonly missing: readonly string[]
}

export function findCompilers(): Compilers {
  const llvmAddr2line = ['llvm-addr2line', ...CLANGS.toReversed().map((version) => `llvm-addr2line-${version}`)].find(
    isInstalled,
  )
  const rust = ['rustc', join(homedir(), '.cargo/bin/rustc')].find(isInstalled)
  const clangs = CLANGS.map((version) => `clang-${version}`)
  const found = llvmAddr2line === undefined ? [] : clangs.filter(isInstalled)
  const absent = clangs.filter((name) => !found.includes(name))
  const prefix = 'aarch64-linux-gnu-'
  const hasArm64 = [`${prefix}gcc`, `${prefix}g++`, `${prefix}addr2line`].every(isInstalled)
  return {
    arm64: hasArm64 ? prefix : undefined,
    c: ['gcc', ...found],
    rust,
    llvmAddr2line,
    missing: [
      ...(llvmAddr2line === undefined ? ['clang was left out, because llvm-addr2line is not installed'] : []),
      ...(llvmAddr2line !== undefined && absent.length > 0 ? [`not installed: ${absent.join(', ')}`] : []),
      ...(hasArm64 ? [] : [`arm64 was left out, because ${prefix}gcc and ${prefix}g++ are not installed`]),
      ...(rust === undefined ? ['Rust was left out, because rustc is not installed'] : []),
    ],
  }
}
