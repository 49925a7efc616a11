import { ratioOf, spreadOf, type Spread } from './statistics.ts'
import type { PlotPlace, Unit } from './suite.ts'

export type Quartiles = readonly [low: number, high: number]

export interface RowResult {
  readonly package: string
  readonly name: string
  readonly unit: Unit
  readonly node: string
  readonly ours: number
  readonly peers: Readonly<Record<string, number>>
  /** The median of the ratios ours / peer of all rounds. */
  readonly ratios: Readonly<Record<string, number>>
  /** The quartiles around the medians above. */
  readonly quartiles: {
    readonly ours: Quartiles
    readonly peers: Readonly<Record<string, Quartiles>>
    readonly ratios: Readonly<Record<string, Quartiles>>
  }
  readonly rounds: number
  readonly target?: Readonly<Record<string, number>>
  readonly plot?: PlotPlace
}

export interface RowSamples {
  readonly package: string
  readonly name: string
  readonly unit: Unit
  readonly bytes?: number | undefined
  readonly target?: Readonly<Record<string, number>> | undefined
  readonly plot?: PlotPlace | undefined
  readonly node: string
  readonly ours: readonly number[]
  readonly peers: Readonly<Record<string, readonly number[]>>
}

export function joinSamples(first: RowSamples, second: RowSamples): RowSamples {
  return {
    ...first,
    ours: [...first.ours, ...second.ours],
    peers: mapValues(first.peers, (samples, peer) => [...samples, ...second.peers[peer]!]),
  }
}

const NANOSECONDS = { ns: 1, ms: 1e6 }

export function resultOf(row: RowSamples): RowResult {
  const inUnit = (samples: readonly number[]): readonly number[] =>
    samples.map((nanoseconds) => (row.unit === 'GB/s' ? row.bytes! / nanoseconds : nanoseconds / NANOSECONDS[row.unit]))
  const ours = inUnit(row.ours)
  const oursSpread = spreadOf(ours)
  const peers = mapValues(row.peers, (samples) => spreadOf(inUnit(samples)))
  const ratios = mapValues(row.peers, (samples) => ratioOf(ours, inUnit(samples)))
  return {
    package: row.package,
    name: row.name,
    unit: row.unit,
    node: row.node,
    ours: oursSpread.median,
    peers: mapValues(peers, median),
    ratios: mapValues(ratios, median),
    quartiles: {
      ours: quartiles(oursSpread),
      peers: mapValues(peers, quartiles),
      ratios: mapValues(ratios, quartiles),
    },
    rounds: ours.length,
    ...(row.target && { target: row.target }),
    ...(row.plot && { plot: row.plot }),
  }
}

function median(spread: Spread): number {
  return spread.median
}

function quartiles(spread: Spread): Quartiles {
  return [spread.low, spread.high]
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  map: (value: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]))
}
