import { readdirSync, readFileSync } from 'node:fs'
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
    descriptors: readdirSync('/proc/self/fd').length,
    children: children().length,
    mappings: mappings.length,
    sharedMappings: mappings.filter((line) => line.includes('/memfd:') || line.includes('/dev/shm/')).length,
    rssAnon: status('RssAnon'),
    rssShmem: status('RssShmem'),
  }
}

/** The numbers of the child processes, of all threads. */
export function children(): number[] {
  return readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}
