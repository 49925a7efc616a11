import type { Plan } from './measure.ts'

const MILLISECOND = 1e6

/*
 * Batches are short, and there are many: on a machine with other work the system takes the processor away every few
 * milliseconds, and then most short batches are still whole, where no long one is. The median sees only those.
 */

/** For figures to keep: a second or two a row. */
export const FULL_PLAN: Plan = {
  warmup: 100 * MILLISECOND,
  batch: 1 * MILLISECOND,
  rounds: 61,
  processes: 3,
  budget: 1e6 * MILLISECOND,
}

/** For a look: the budget is what all files may take together on all Nodes, well under three minutes. */
export const QUICK_PLAN: Plan = {
  warmup: 40 * MILLISECOND,
  batch: 0.5 * MILLISECOND,
  rounds: 41,
  processes: 1,
  budget: 140_000 * MILLISECOND,
}
