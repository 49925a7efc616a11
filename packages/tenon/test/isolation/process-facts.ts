import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a process holds, as Linux counts it. */
export interface ProcessFacts {
  readonly descriptors: number
  readonly children: number
  readonly mappings: number
  /** Those of memory without a file, which other processes may share. */
  readonly sharedMappings: number
  /** In bytes. */
  readonly rssAnon: number
  /** In bytes. */
  readonly rssShmem: number
}

const status = (name: string): number => {
  const text = readFileSync('/proc/self/status', 'utf8')
  return 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)![1])
}

/** Reads what this process holds, once nothing more is released. */
export async function processFacts(): Promise<ProcessFacts> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc!()
    await sleep(20)
  }
  const mappings = readFileSync('/proc/self/maps', 'utf8').split('\n')
  return {
    descriptors: descriptors().length,
    children: children().length,
    mappings: mappings.length,
    sharedMappings: mappings.filter(isShared).length,
    rssAnon: status('RssAnon'),
    rssShmem: status('RssShmem'),
  }
}

/** The facts that count what a process can leave open. */
const COUNTS = ['descriptors', 'children', 'sharedMappings'] as const

/** Deno opens a pair of sockets for the ends of child processes, after a few of them. */
const LATER_DESCRIPTORS = process.versions['deno'] === undefined ? 0 : 2

/** How long a busy machine may take to end processes and threads, and to collect garbage, in ms. */
const LONGEST_END = 10_000

/**
 * Waits until this process holds no more than it did.
 *
 * @param counts what is compared. @returns what it holds more after 10 s; nothing if all was released
 */
export async function remainingSince(
  before: Pick<ProcessFacts, (typeof COUNTS)[number]>,
  counts: readonly (typeof COUNTS)[number][] = COUNTS,
): Promise<readonly string[]> {
  const end = performance.now() + LONGEST_END
  for (;;) {
    const now = await processFacts()
    const remaining = counts.filter(
      (count) => now[count] > before[count] + (count === 'descriptors' ? LATER_DESCRIPTORS : 0),
    )
    if (remaining.length === 0) return []
    if (performance.now() > end)
      return remaining.map((count) => `${now[count] - before[count]} ${count} of ${all[count]()}`)
  }
}

/** Lists what is counted, so that a failure names what was left. */
const all = {
  descriptors: (): string => descriptors().join(', '),
  children: (): string => children().join(', '),
  sharedMappings: (): string => readFileSync('/proc/self/maps', 'utf8').split('\n').filter(isShared).join(', '),
} as const

/** The files of the descriptors of this process, without the caches of modules that Deno opens when it loads one. */
const descriptors = (): string[] =>
  readdirSync('/proc/self/fd')
    .map(targetOf)
    .filter((target) => !/_analysis_cache_v\d/.test(target))

function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return 'closed'
  }
}

const isShared = (line: string): boolean => line.includes('/memfd:') || line.includes('/dev/shm/')

/** The numbers of the child processes, of all threads. */
export function children(): number[] {
  return readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}
