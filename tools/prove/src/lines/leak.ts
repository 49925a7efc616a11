/** The resident memory of the process after many rounds. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Check, Line } from '../line.ts'

const MIB = 2 ** 20

/** A block of rounds may leave as much, because heaps keep what they may need again. */
const MOST_GROWTH = 8 * MIB

async function residentBytes(): Promise<number> {
  // Finalizers run in a later turn, and may leave more to collect.
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await wait(50)
  }
  return process.memoryUsage.rss()
}

/**
 * Runs blocks of rounds. Caches and heaps get their size in the first ones, and then only a leak makes each block larger than the one before.
 */
async function growth(rounds: number, round: () => unknown): Promise<Check> {
  const sizes: number[] = []
  for (let block = 0; block < 4; block++) {
    for (let i = 0; i < rounds; i++) await round()
    sizes.push(await residentBytes())
  }
  const grown = Math.min(...sizes.slice(1).map((size, i) => size - sizes[i]!))
  const isRight = grown < MOST_GROWTH
  return {
    isRight,
    seen: isRight ? `less than ${MOST_GROWTH / MIB} MiB` : `${Math.round(grown / MIB)} MiB in each block`,
  }
}

export const leak: readonly Line[] = [
  {
    name: 'leak/memory',
    work: 'Allocates 1 MiB, passes it to a call, and frees it, in blocks of 150 rounds.',
    expected: 'result',
    needs: ['allocate', 'fill'],
    run: ({ allocate, fill }) =>
      growth(150, async () => {
        const { argument, free } = allocate(MIB)
        await fill(argument, MIB, 1)
        await free()
      }),
  },
  {
    name: 'leak/callbacks',
    work: 'Makes a callback, lets C call it, and releases it, in blocks of 5000 rounds.',
    expected: 'result',
    needs: ['callback', 'repeat'],
    run: ({ callback, repeat }) =>
      growth(5000, async () => {
        const { argument, release } = callback((value) => value + 1)
        await repeat(argument, 1)
        await release()
      }),
  },
  {
    name: 'leak/strings',
    work: 'Passes a string of 10,000 letters, in blocks of 5000 rounds.',
    expected: 'result',
    needs: ['length'],
    run: ({ length }) => {
      const text = 'x'.repeat(10_000)
      return growth(5000, () => length(text))
    },
  },
  {
    name: 'leak/async',
    work: 'Sums 1 MiB of new memory on another thread, in blocks of 100 rounds.',
    expected: 'result',
    needs: ['sumLater'],
    run: ({ sumLater }) => growth(100, () => sumLater(new Uint8Array(MIB).fill(1), MIB)),
  },
]
