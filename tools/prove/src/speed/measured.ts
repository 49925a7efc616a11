import { type Contestant, isTenon, type Runtime } from '../contestant.ts'
import { contestants } from '../contestants/index.ts'

const { bun, deno } = process.versions

/** The runtime of this process. */
export const runtime: Runtime = bun === undefined ? (deno === undefined ? 'node' : 'deno') : 'bun'

/** Only this rival is measured, if `pnpm prove --only` names one. */
const only = process.env['TENON_PROVE_RIVAL']

/** Tenon and the rivals that this process measures. */
export const measuredContestants: readonly Contestant[] = contestants.filter(
  ({ name, runtimes }) => runtimes.includes(runtime) && (only === undefined || isTenon(name) || name === only),
)
