import { bars, type RowResult } from '@tenon/bench'
import type { Proof } from './proof.ts'
import { runtimeOf } from './tables.ts'

/** A plot as it is written. */
export interface Plot {
  readonly name: string
  readonly title: string
  readonly svg: string
  /** The rivals that would be more than ten times as long as Tenon, so that no bar beside them could be read. */
  readonly left: readonly string[]
}

/** A rival whose bar would hide the others is only in the tables. */
const LEAST_RATIO = 0.1

/** Draws the speeds on Node.js, and the start in each runtime. A group has one scale, and the thin lines are between the quartiles. */
export function drawPlots({ results }: Pick<Proof, 'results'>): Plot[] {
  const onNode = results.filter(({ node }) => /^\d/.test(node))
  const isCall = ({ name }: RowResult): boolean => /^(?:calls|strings|structs|callbacks|memory)\//.test(name)
  return [
    plotOf('proof-calls', 'The time of a call on Node.js, in ns', onNode.filter(isCall), ({ name }) => name),
    plotOf(
      'proof-threads',
      'Other threads and processes on Node.js, in µs',
      onNode.filter(({ name }) => /^(?:async|processes|model)\//.test(name)),
      ({ name }) => name,
    ),
    plotOf(
      'proof-start',
      'A process that loads a contestant and makes one call, in ms',
      results.filter(({ name }) => name.startsWith('start/')),
      runtimeOf,
    ),
  ].filter((plot) => plot !== undefined)
}

function plotOf(
  name: string,
  title: string,
  rows: readonly RowResult[],
  heading: (row: RowResult) => string,
): Plot | undefined {
  if (rows.length === 0) return undefined
  const left = new Set<string>()
  const groups = rows.map((row) => {
    const scale = title.endsWith('µs') ? 1e-3 : 1
    const rounded = (value: number): number => Number((value * scale).toPrecision(3))
    const [ownLow, ownHigh] = row.quartiles.ours
    const all = [{ name: 'Tenon', value: rounded(row.ours), low: rounded(ownLow), high: rounded(ownHigh) }]
    for (const [rival, value] of Object.entries(row.peers)) {
      if (row.ratios[rival]! < LEAST_RATIO) {
        left.add(rival)
        continue
      }
      const [low, high] = row.quartiles.peers[rival]!
      all.push({ name: rival, value: rounded(value), low: rounded(low), high: rounded(high) })
    }
    // The first rival is grey and Tenon is blue, as in the other plots.
    const [own, first, ...others] = all
    return { title: heading(row), bars: first === undefined ? all : [first, own!, ...others] }
  })
  return { name, title, svg: bars(title, groups), left: [...left] }
}
