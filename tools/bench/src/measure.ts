import type { Loop } from './loop.ts'

/** The durations of a measurement, in nanoseconds. */
export interface Plan {
  /** The time that each contestant runs before the measurement. */
  readonly warmup: number
  /** The intended time of one batch of iterations. */
  readonly batch: number
  /** The number of turns of each contestant, in each process. */
  readonly rounds: number
  /** The number of processes that measure a file, because the engine compiles the same code differently in each. */
  readonly processes: number
  /** The limit of the total time. Warm-up and rounds are cut to fit, down to {@link FEWEST_ROUNDS}. */
  readonly budget: number
}

/** Returns the nanoseconds since an arbitrary moment. */
export type Clock = () => number

/** The smallest number of rounds for which quartiles are meaningful. */
export const FEWEST_ROUNDS = 5

const MOST_ITERATIONS = 2 ** 30

export const processClock: Clock = () => performance.now() * 1e6

/** The length of a batch of the warm-up. It is short, so that the engine compiles whole functions instead of running loops. */
const WARM_BATCH = 50_000

/**
 * Measures contestants against each other. Each is warmed up, and its batches are sized to take `plan.batch`. Then they take
 * turns, and each round begins with another contestant, so that none always runs after the same neighbour. Each turn begins
 * with an iteration that is not counted, because it runs with the caches of the neighbour.
 *
 * @returns for each contestant, the nanoseconds of one iteration in each round.
 */
export async function measure(
  contestants: readonly Loop[],
  plan: Plan,
  clock: Clock = processClock,
): Promise<number[][]> {
  const runners = contestants.map((loop) => ({ loop, iterations: 1, samples: [] as number[] }))
  const warmup = Math.min(plan.warmup, (plan.budget * 0.3) / runners.length)
  for (const { loop } of runners) await fit(loop, WARM_BATCH, warmup, clock)
  let round = 0
  for (const runner of runners) {
    const { iterations, elapsed } = await fit(runner.loop, plan.batch, 0, clock)
    runner.iterations = iterations
    round += elapsed + elapsed / iterations
  }
  const rounds = Math.max(FEWEST_ROUNDS, Math.min(plan.rounds, Math.floor((plan.budget * 0.7) / round)))
  for (let turn = 0; turn < rounds; turn++) {
    for (let place = 0; place < runners.length; place++) {
      const runner = runners[(turn + place) % runners.length]!
      await runner.loop(1)
      runner.samples.push((await time(runner.loop, runner.iterations, clock)) / runner.iterations)
    }
  }
  return runners.map(({ samples }) => samples)
}

/** Runs a loop for at least `least`, in batches that grow to `batch`, and returns the iterations and the time of such a batch. */
async function fit(
  loop: Loop,
  batch: number,
  least: number,
  clock: Clock,
): Promise<{ iterations: number; elapsed: number }> {
  const start = clock()
  let iterations = 1
  for (;;) {
    let elapsed = await time(loop, iterations, clock)
    // The system may have interrupted the batch, so the shorter of two tries counts.
    if (elapsed >= batch / 2) elapsed = Math.min(elapsed, await time(loop, iterations, clock))
    const isFull = elapsed >= batch / 2 || iterations >= MOST_ITERATIONS
    const fitting = Math.min(iterations * Math.min(batch / Math.max(elapsed, 1), 8), MOST_ITERATIONS)
    if (isFull && clock() - start >= least) {
      const fitted = Math.max(1, Math.round(fitting))
      return { iterations: fitted, elapsed: (elapsed / iterations) * fitted }
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
