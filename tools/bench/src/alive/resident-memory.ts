import { readFileSync } from 'node:fs'

/**
 * Returns the resident bytes of this process. On Linux they come from `smaps_rollup`, which counts pages; the counters of
 * `/proc/self/status` are kept for each thread and lag behind.
 */
export function residentBytes(): number {
  if (process.platform !== 'linux') return process.memoryUsage.rss()
  return parseResident(readFileSync('/proc/self/smaps_rollup', 'latin1'))
}

/** @throws {Error} if the text has no line `Rss:`. */
export function parseResident(text: string): number {
  const kilobytes = /^Rss:\s+(\d+) kB$/m.exec(text)?.[1]
  if (kilobytes === undefined)
    throw new Error(`smaps_rollup must have a line "Rss: N kB", got ${JSON.stringify(text)}.`)
  return Number(kilobytes) * 1024
}
