import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { runtime } from '@tenon/core/internal'

/** A soft and a hard limit of the process. */
export interface Limit {
  readonly soft: number | 'unlimited'
  readonly hard: number | 'unlimited'
}

/** The C library of the process. Only Linux has a choice. */
export interface Libc {
  readonly name: 'glibc' | 'musl'
  readonly version?: string
}

export interface SystemFacts {
  readonly os: string
  readonly cpu: string
  readonly libc?: Libc
  /** Whether the kernel of Linux can filter the system calls of workers. Missing on other systems. */
  readonly hasFilters?: boolean
  readonly limits: {
    readonly openFiles?: Limit
    /** In bytes. */
    readonly lockedMemory?: Limit
    /** The limit of memory mappings of a process. */
    readonly mappings?: number
    /** The size of /dev/shm and its free part, in bytes. */
    readonly sharedMemory?: { readonly size: number; readonly free: number }
  }
}

/** Systems with filters of system calls have this file. */
const FILTERS = '/proc/sys/kernel/seccomp/actions_avail'

/** The part of Node's diagnostic report that is read here. */
interface Report {
  readonly header: { readonly glibcVersionRuntime?: string }
  readonly sharedObjects: readonly string[]
  readonly userLimits?: { readonly open_files?: Limit; readonly max_locked_memory_bytes?: Limit }
}

/** Describes the operating system and the limits of this process. What a system does not have is missing. */
export function systemFacts(): SystemFacts {
  const report = readReport()
  const libc = libcOf(report, runtime.reportsGlibc, runLoader)
  const { open_files: openFiles, max_locked_memory_bytes: lockedMemory } = report.userLimits ?? {}
  const mappings = readNumber('/proc/sys/vm/max_map_count')
  const sharedMemory = readSharedMemory('/dev/shm')
  return {
    os: process.platform,
    cpu: process.arch,
    ...(libc && { libc }),
    ...(process.platform === 'linux' && existsSync('/proc/self/status') && { hasFilters: existsSync(FILTERS) }),
    limits: {
      ...(openFiles && { openFiles }),
      ...(lockedMemory && { lockedMemory }),
      ...(mappings !== undefined && { mappings }),
      ...(sharedMemory && { sharedMemory }),
    },
  }
}

function readReport(): Report {
  // The types of Node.js lack this property. Without it, a report asks the network for the names of open connections.
  const reporter = process.report as typeof process.report & { excludeNetwork: boolean }
  const { excludeNetwork } = reporter
  reporter.excludeNetwork = true
  const report = reporter.getReport() as unknown as Report
  reporter.excludeNetwork = excludeNetwork
  return report
}

/**
 * @param reportsGlibc whether the report has the version of glibc, and not only its name
 * @param run runs a program without arguments, and returns its output
 */
export function libcOf(
  { header, sharedObjects }: Pick<Report, 'header' | 'sharedObjects'>,
  reportsGlibc: boolean,
  run: (program: string) => string,
): Libc | undefined {
  const { glibcVersionRuntime: glibc } = header
  if (glibc !== undefined) return { name: 'glibc', ...(reportsGlibc && { version: glibc }) }
  const loader = sharedObjects.find((path) => /\/ld-musl-[^/]+$/.test(path))
  if (loader === undefined) return undefined
  // The loader of musl prints its version when it is run as a program.
  const version = /^Version (\S+)$/m.exec(run(loader))?.[1]
  return { name: 'musl', ...(version !== undefined && { version }) }
}

const runLoader = (loader: string): string => spawnSync(loader, { encoding: 'utf8' }).stderr

function readNumber(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch {
    return undefined // Only Linux has this file.
  }
}

function readSharedMemory(path: string): { size: number; free: number } | undefined {
  if (!existsSync(path)) return undefined
  const { bsize, blocks, bavail } = statfsSync(path)
  return { size: bsize * blocks, free: bsize * bavail }
}
