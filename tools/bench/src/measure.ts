import type { Loop } from './loop.ts'

/** How long to measure. All times in nanoseconds. */
export interface Plan {
  /** How long each contestant runs before anything counts. */
  readonly warmup: number
  /** How long one batch of iterations should take. */
  readonly batch: number
  /** How often all contestants take their turn. */
  readonly rounds: number
  /** What a row may take altogether: warm-up and rounds are cut to fit, down to {@link FEWEST_ROUNDS}. */
  readonly budget: number
}

/** Nanoseconds since some moment. */
export type Clock = () => number

/** With fewer rounds than these there are no quartiles to speak of. */
export const FEWEST_ROUNDS = 5

const MOST_ITERATIONS = 2 ** 30

/** The time of this process. */
export const processClock: Clock = () => performance.now() * 1e6

/**
 * Measures contestants against each other. Each is warmed up and its batch sized to take `plan.batch`; then they take
 * turns, round after round, and each round begins with the next one, so that nobody always runs behind the same neighbour.
 *
 * @returns for each contestant the nanoseconds of one iteration, round by round.
 */
export async function measure(
  contestants: readonly Loop[],
  plan: Plan,
  clock: Clock = processClock,
): Promise<number[][]> {
  const runners = contestants.map((loop) => ({ loop, iterations: 1, samples: [] as number[] }))
  const warmup = Math.min(plan.warmup, (plan.budget * 0.3) / runners.length)
  for (const runner of runners) runner.iterations = (await size(runner.loop, 1, warmup, plan.batch, clock)).iterations
  let round = 0
  // Once more: a later contestant may have changed what the engine knew of an earlier one.
  for (const runner of runners) {
    const sized = await size(runner.loop, runner.iterations, 0, plan.batch, clock)
    runner.iterations = sized.iterations
    round += sized.elapsed
  }
  const affordable = Math.floor((plan.budget * 0.7) / round)
  const rounds = Math.max(FEWEST_ROUNDS, Math.min(plan.rounds, affordable))
  for (let turn = 0; turn < rounds; turn++) {
    for (let place = 0; place < runners.length; place++) {
      const runner = runners[(turn + place) % runners.length]!
      runner.samples.push((await time(runner.loop, runner.iterations, clock)) / runner.iterations)
    }
  }
  return runners.map(({ samples }) => samples)
}

/** Runs a loop for `warmup` at least, growing the batch until it takes about `batch`; returns its size and its time. */
async function size(
  loop: Loop,
  first: number,
  warmup: number,
  batch: number,
  clock: Clock,
): Promise<{ iterations: number; elapsed: number }> {
  const start = clock()
  let iterations = first
  for (;;) {
    const elapsed = await time(loop, iterations, clock)
    const isFull = elapsed >= batch / 2 || iterations >= MOST_ITERATIONS
    const fitting = Math.min(iterations * Math.min(batch / Math.max(elapsed, 1), 8), MOST_ITERATIONS)
    if (isFull && clock() - start >= warmup) {
      const sized = Math.max(1, Math.round(fitting))
      return { iterations: sized, elapsed: (elapsed / iterations) * sized }
    }
    iterations = Math.max(1, Math.ceil(fitting))
  }
}

const sink: unknown[] = [undefined]

async function time(loop: Loop, iterations: number, clock: Clock): Promise<number> {
  const start = clock()
  const result = loop(iterations)
  sink[0] = result instanceof Promise ? await result : result
  return clock() - start
}
