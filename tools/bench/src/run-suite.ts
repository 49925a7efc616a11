import { loopOver } from './loop.ts'
import { measure, type Clock, type Plan } from './measure.ts'
import type { RowSamples } from './result.ts'
import { sourcePlaces } from './source-places.ts'
import type { Contestants, Row, Suite } from './suite.ts'

/** A report of a run: the samples of a row, the failure of a row, or a warning for the author of the bench file. */
export type Report =
  | { readonly kind: 'samples'; readonly samples: RowSamples }
  | { readonly kind: 'failure'; readonly row: string; readonly message: string }
  | { readonly kind: 'warning'; readonly message: string }

export interface SuiteOptions {
  readonly plan: Plan
  /** The names of the rows must contain one of these texts. */
  readonly rows?: readonly string[]
  readonly clock?: Clock
}

/** Measures the rows of a suite one after another. A failure of a row is reported, and the run continues with the next. */
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
  const { name, unit, bytes, target, plot } = row
  return {
    package: packageName,
    name,
    unit,
    bytes,
    target,
    plot,
    node: versionOfRuntime(),
    ours: oursNs!,
    peers: Object.fromEntries(Object.keys(peers).map((peer, index) => [peer, others[index]!])),
  }
}

/** The version of Node.js, or the name and the version of another runtime. */
function versionOfRuntime(): string {
  const { bun, deno, node } = process.versions
  if (bun !== undefined) return `Bun ${bun}`
  return deno === undefined ? node : `Deno ${deno}`
}

function checkRow(row: Row, { peers }: Contestants): void {
  const names = Object.keys(peers)
  if (names.length === 0) throw new Error(`${row.name} must have at least one peer`)
  if (row.unit === 'GB/s' && !(row.bytes! > 0)) throw new Error(`${row.name} must have bytes, because its unit is GB/s`)
  const unknown = Object.keys(row.target ?? {}).find((peer) => !names.includes(peer))
  if (unknown !== undefined) {
    throw new Error(`${row.name} has a target for ${unknown}, which is not one of its peers: ${names.join(', ')}`)
  }
}

/** Warns of bodies that come from one function literal, because they share type feedback. */
function warnOfTwins(
  row: Row,
  { ours, peers }: Contestants,
  seen: Map<string, string>,
  report: (report: Report) => void,
): void {
  const names = ['ours', ...Object.keys(peers)]
  // The inspectors of other runtimes do not know the places.
  if (process.versions.bun !== undefined || process.versions.deno !== undefined) return
  const places = sourcePlaces([ours, ...Object.values(peers)])
  for (const [index, place] of places.entries()) {
    const body = `${row.name} (${names[index]})`
    const twin = seen.get(place)
    if (twin !== undefined) {
      const message = `${body} and ${twin} come from one function literal and share type feedback. Write each body separately.`
      report({ kind: 'warning', message })
    }
    seen.set(place, body)
  }
}
