import { ratioOf, spreadOf, type Spread } from './statistics.ts'
import type { Row } from './suite.ts'

/** The quartiles of many rounds. */
export type Quartiles = readonly [low: number, high: number]

/** What one row came to on one Node: medians of many rounds. */
export interface RowResult {
  readonly package: string
  readonly name: string
  readonly unit: 'ns' | 'GB/s'
  /** The version that ran it: `24.21.0`. */
  readonly node: string
  readonly ours: number
  readonly peers: Readonly<Record<string, number>>
  /** ours / peer: the median of the rounds' own ratios. */
  readonly ratios: Readonly<Record<string, number>>
  /** The quartiles around the medians above. */
  readonly quartiles: {
    readonly ours: Quartiles
    readonly peers: Readonly<Record<string, Quartiles>>
    readonly ratios: Readonly<Record<string, Quartiles>>
  }
  readonly rounds: number
  readonly target?: Readonly<Record<string, number>>
}

/** Adds up the rounds of a row: nanoseconds of one iteration for ours and for each peer. */
export function resultOf(
  packageName: string,
  row: Pick<Row, 'name' | 'unit' | 'bytes' | 'target'>,
  node: string,
  oursNs: readonly number[],
  peersNs: Readonly<Record<string, readonly number[]>>,
): RowResult {
  const inUnit = (samples: readonly number[]): readonly number[] =>
    row.unit === 'ns' ? samples : samples.map((nanoseconds) => row.bytes! / nanoseconds)
  const ours = inUnit(oursNs)
  const oursSpread = spreadOf(ours)
  const peers = mapValues(peersNs, (samples) => spreadOf(inUnit(samples)))
  const ratios = mapValues(peersNs, (samples) => ratioOf(ours, inUnit(samples)))
  return {
    package: packageName,
    name: row.name,
    unit: row.unit,
    node,
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
  }
}

function median(spread: Spread): number {
  return spread.median
}

function quartiles(spread: Spread): Quartiles {
  return [spread.low, spread.high]
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
