import type { Plan } from './measure.ts'

const MILLISECOND = 1e6

/*
 * There are many short batches, because a busy system interrupts the process every few milliseconds. Most short batches are
 * not interrupted, and the median sees only those.
 */

/** The plan for figures that are kept, with one or two seconds for each row. */
export const FULL_PLAN: Plan = {
  warmup: 100 * MILLISECOND,
  batch: 1 * MILLISECOND,
  rounds: 61,
  processes: 3,
  budget: 1e6 * MILLISECOND,
}

/** The plan for a quick look. The budget is for all files on all versions of Node.js, in total. */
export const QUICK_PLAN: Plan = {
  warmup: 40 * MILLISECOND,
  batch: 0.5 * MILLISECOND,
  rounds: 41,
  processes: 1,
  budget: 140_000 * MILLISECOND,
}
