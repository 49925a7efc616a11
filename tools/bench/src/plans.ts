import type { Plan } from './measure.ts'

const MILLISECOND = 1e6

/** For figures to keep: a second or two a row. */
export const FULL_PLAN: Plan = {
  warmup: 100 * MILLISECOND,
  batch: 5 * MILLISECOND,
  rounds: 15,
  processes: 3,
  budget: 1e6 * MILLISECOND,
}

/** For a look: the budget is what all files may take together on all Nodes, well under three minutes. */
export const QUICK_PLAN: Plan = {
  warmup: 40 * MILLISECOND,
  batch: 2 * MILLISECOND,
  rounds: 15,
  processes: 1,
  budget: 140_000 * MILLISECOND,
}
