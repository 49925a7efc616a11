import type { Loop } from './loop.ts'

/** How long to measure. All times in nanoseconds. */
export interface Plan {
  /** How long each contestant runs before anything counts. */
  readonly warmup: number
  /** How long one batch of iterations should take. */
  readonly batch: number
  /** How often all contestants take their turn, in each process. */
  readonly rounds: number
  /** How many processes measure a file, one after the other: what the engine makes of the same code differs by luck. */
  readonly processes: number
  /** What may be taken altogether: warm-up and rounds are cut to fit, down to {@link FEWEST_ROUNDS}. */
  readonly budget: number
}

/** Nanoseconds since some moment. */
export type Clock = () => number

/** With fewer rounds than these there are no quartiles to speak of. */
export const FEWEST_ROUNDS = 5

const MOST_ITERATIONS = 2 ** 30

/** The time of this process. */
export const processClock: Clock = () => performance.now() * 1e6

/** Batches of the warm-up: short, so that the engine compiles whole functions, not single loops that it is inside of. */
const WARM_BATCH = 50_000

/**
 * Measures contestants against each other. Each is warmed up, then each batch is sized to take `plan.batch`; then they take
 * turns, round after round, and each round begins with the next one, so that nobody always runs behind the same neighbour.
 * Each turn begins with an iteration that doesn't count: it finds the caches as the neighbour left them.
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

/** Runs a loop for `least` at least, in batches that grow to `batch`; returns the iterations of such a batch, and its time. */
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
    // The system may have taken the processor away: a batch takes as long as the shorter of two tries.
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
