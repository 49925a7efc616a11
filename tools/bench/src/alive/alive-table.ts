import { align } from '../table.ts'
import type { Spread } from '../statistics.ts'
import type { AliveResult, CountResult } from './alive-result.ts'

/**
 * Formats results as one table for each package and runtime, with a row for each kind of object and its columns for each
 * count: the time to make and end an object, its resident bytes, the resident memory after the end compared with the start,
 * and the bytes of an object that each further filling leaves behind. NumPy follows the row that it is compared with.
 */
export function formatAliveTable(results: readonly AliveResult[]): string {
  const counts = [...new Set(results.flatMap((result) => result.counts.map(({ alive }) => alive)))].toSorted(
    (a, b) => a - b,
  )
  const tables: string[] = []
  for (const packageName of new Set(results.map((result) => result.package))) {
    const ofPackage = results.filter((result) => result.package === packageName)
    for (const runtime of new Set(ofPackage.filter(({ isNumpy }) => !isNumpy).map((result) => result.runtime))) {
      const ours = ofPackage.filter((result) => result.runtime === runtime)
      const lines = [
        [`${packageName}, ${runtime}`, ...counts.map((count) => `${count.toLocaleString('en')} alive`), 'growth'],
      ]
      for (const result of ours) {
        lines.push(lineOf(result, counts))
        const numpy = ofPackage.find(({ isNumpy, name }) => isNumpy && name === result.name)
        if (numpy) lines.push(lineOf(numpy, counts, result))
      }
      tables.push(align(lines))
    }
  }
  return tables.join('\n\n')
}

/** Formats a row, or NumPy's figures below the row `ours`, with the ratio ours/NumPy. */
function lineOf(result: AliveResult, counts: readonly number[], ours?: AliveResult): string[] {
  const name = ours ? `    / ${result.runtime}` : `  ${result.name}${result.isPeer ? ' (peer)' : ''}`
  const cells = counts.map((count) => {
    const found = at(result, count)
    if (found === undefined) return result.skipped[count] === undefined ? '' : '-'
    const mine = ours && at(ours, count)
    const ratio = mine ? ` x${(mine.life.median / found.life.median).toFixed(2)}` : ''
    return formatCount(found) + ratio
  })
  return [name, ...cells, result.growth ? formatGrowth(result.growth) : '']
}

function at(result: AliveResult, count: number): CountResult | undefined {
  return result.counts.find(({ alive }) => alive === count)
}

function formatCount({ life, memory }: CountResult): string {
  const time = `${formatTime(life.median).padStart(8)} ${halfSpread(life)}`
  if (memory === undefined) return time
  const after = (memory.after.median - 1) * 100
  const leak = Math.round(memory.leak.median)
  const parts = [
    `${Math.round(memory.bytes.median).toLocaleString('en')} B`,
    `after ${after < 0 ? '' : '+'}${after.toFixed(0)} %`,
    ...(leak > 0 ? [`leaks ${leak} B`] : []),
  ]
  return `${time}, ${parts.join(', ')}`
}

function formatGrowth({ time, bytes }: NonNullable<AliveResult['growth']>): string {
  return `n^${time.median.toFixed(2)}${bytes ? `, bytes n^${bytes.median.toFixed(2)}` : ''}`
}

function formatTime(nanoseconds: number): string {
  if (nanoseconds < 1000) return `${nanoseconds.toFixed(0)} ns`
  return `${(nanoseconds / 1000).toFixed(nanoseconds < 10_000 ? 2 : 1)} us`
}

function halfSpread({ median, low, high }: Spread): string {
  return `±${(((high - low) / 2 / median) * 100).toFixed(0)}%`
}
