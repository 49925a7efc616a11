import { loopOver } from './loop.ts'
import { measure, type Clock, type Plan } from './measure.ts'
import type { RowSamples } from './result.ts'
import { sourcePlaces } from './source-places.ts'
import type { Contestants, Row, Suite } from './suite.ts'

/** What a run reports as it goes: what a row was measured to take, or why it was not, or advice to who wrote it. */
export type Report =
  | { readonly kind: 'samples'; readonly samples: RowSamples }
  | { readonly kind: 'failure'; readonly row: string; readonly message: string }
  | { readonly kind: 'warning'; readonly message: string }

/** Which rows to measure and how. */
export interface SuiteOptions {
  readonly plan: Plan
  /** Only rows with one of these texts in their names; all without it. */
  readonly rows?: readonly string[]
  readonly clock?: Clock
}

/** Measures the rows of a suite one after another. A row that fails is reported and the others go on. */
export async function runSuite(suite: Suite, options: SuiteOptions, report: (report: Report) => void): Promise<void> {
  const twice = suite.rows.find(({ name }, index) => suite.rows.findIndex((row) => row.name === name) !== index)
  if (twice) throw new Error(`${suite.package} has two rows with the name ${twice.name}`)
  const rows = suite.rows.filter(({ name }) => options.rows?.some((text) => name.includes(text)) ?? true)
  const seen = new Map<string, string>()
  const plan = { ...options.plan, budget: options.plan.budget / rows.length }
  for (const row of rows) {
    try {
      const contestants = await row.setup()
      try {
        checkRow(row, contestants)
        warnOfTwins(row, contestants, seen, report)
        report({ kind: 'samples', samples: await measureRow(suite.package, row, contestants, plan, options.clock) })
      } finally {
        await contestants.teardown?.()
      }
    } catch (error) {
      report({
        kind: 'failure',
        row: row.name,
        message: error instanceof Error ? (error.stack ?? error.message) : String(error),
      })
    }
  }
}

async function measureRow(
  packageName: string,
  row: Row,
  { ours, peers }: Contestants,
  plan: Plan,
  clock: Clock | undefined,
): Promise<RowSamples> {
  const loops = [await loopOver(ours)]
  for (const peer of Object.values(peers)) loops.push(await loopOver(peer))
  globalThis.gc?.()
  const [oursNs, ...others] = await measure(loops, plan, clock)
  const { name, unit, bytes, target } = row
  return {
    package: packageName,
    name,
    unit,
    bytes,
    target,
    node: process.versions.node,
    ours: oursNs!,
    peers: Object.fromEntries(Object.keys(peers).map((peer, index) => [peer, others[index]!])),
  }
}

function checkRow(row: Row, { peers }: Contestants): void {
  const names = Object.keys(peers)
  if (names.length === 0) throw new Error(`${row.name} has no peer to be compared with`)
  if (row.unit === 'GB/s' && !(row.bytes! > 0))
    throw new Error(`${row.name} is in GB/s and must say how many bytes it moves`)
  const unknown = Object.keys(row.target ?? {}).find((peer) => !names.includes(peer))
  if (unknown !== undefined) {
    throw new Error(`${row.name} has a target against ${unknown}, which is none of its peers: ${names.join(', ')}`)
  }
}

/** Bodies of one function literal: one spoils the type feedback of the other. */
function warnOfTwins(
  row: Row,
  { ours, peers }: Contestants,
  seen: Map<string, string>,
  report: (report: Report) => void,
): void {
  const names = ['ours', ...Object.keys(peers)]
  const places = sourcePlaces([ours, ...Object.values(peers)])
  for (const [index, place] of places.entries()) {
    const body = `${row.name} (${names[index]})`
    const twin = seen.get(place)
    if (twin !== undefined) {
      const message = `${body} and ${twin} come from one function literal: they share type feedback, so write each by itself`
      report({ kind: 'warning', message })
    }
    seen.set(place, body)
  }
}
