import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

/** Times of files lag behind the clock by up to this many ms. */
const CLOCK_STEP = 20

/** Where the system writes core files: a pattern, or the program that takes them, behind `|`. */
function corePattern(): string {
  try {
    return readFileSync('/proc/sys/kernel/core_pattern', 'utf8').trim()
  } catch {
    return 'core'
  }
}

/** The names that the pattern stands for, as far as they are known: those of core(5) that depend on the process or the user. */
function namesOf(pattern: string, process: number, signal: number): string[] {
  const { uid = 0, gid = 0 } = userIds()
  const values: Readonly<Record<string, string | number>> = {
    '%': '%',
    p: process,
    P: process,
    i: process,
    I: process,
    s: signal,
    u: uid,
    g: gid,
  }
  const name = pattern.replaceAll(/%(.)/g, (text, letter: string) => String(values[letter] ?? text))
  // The system appends the process to a name without %p if core_uses_pid is set.
  return /%[^%]/.test(pattern) ? [name] : [`${name}.${process}`, name]
}

function userIds(): { readonly uid?: number; readonly gid?: number } {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
}

/**
 * The path of the core file of a process, if the system has written one.
 *
 * @param since when the process started, as ms since the epoch. An older file is of another crash.
 */
export function coreFileOf(process: number, signal: number, since: number): string | undefined {
  const file = namesOf(corePattern(), process, signal).find((name) => {
    const stats = name.startsWith('|') ? undefined : statSync(name, { throwIfNoEntry: false })
    return stats?.isFile() === true && stats.mtimeMs >= since - CLOCK_STEP
  })
  return file === undefined ? undefined : resolve(file)
}

/** The command that opens a core file in a debugger; undefined if no core file is known. */
export function debuggerCommand(process: number, program: string, coreFile: string | undefined): string | undefined {
  if (coreFile !== undefined) return `gdb -ex backtrace ${quoted(program)} ${quoted(coreFile)}`
  return corePattern().includes('systemd-coredump') ? `coredumpctl gdb ${process}` : undefined
}

const quoted = (path: string): string => (/^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)
