import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { coreLibrary } from '@tenon/core/internal'

/** With koffi, memory ends when it is closed, and not with its last view, and there are no SharedArrayBuffers over it. */
export const hasOwnBuffers: boolean = coreLibrary().driver.kind !== 'koffi'

/** The resident bytes of this process of one kind. */
export function residentBytes(kind: 'RssShmem' | 'RssAnon'): number {
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(new RegExp(`^${kind}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024
}

export const openDescriptors = (): number => readdirSync('/proc/self/fd').length

/** The mappings of this process whose names contain a text. */
export function mappingsOf(name: string): number {
  return readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.includes(name)).length
}

/** Collects garbage until a condition holds. */
export async function collectUntil(condition: () => boolean): Promise<boolean> {
  for (let i = 0; i < 100 && !condition(); i++) {
    globalThis.gc!()
    await sleep(5)
  }
  return condition()
}
