import { quantile } from './quantile.ts'

/** A kernel with its arguments, ready to run. */
export interface Contestant {
  /** The name in the table: `in process`, `isolated` or the file of the library. */
  readonly name: string
  readonly run: () => void
}

/** The durations of one contestant, in nanoseconds a run. */
export interface Distribution {
  readonly name: string
  readonly runs: number
  /** The runs that share one reading of the clock. The quantiles are those of their means if there are several. */
  readonly runsPerSample: number
  readonly meanNs: number
  readonly p50Ns: number
  readonly p90Ns: number
  readonly p99Ns: number
  /** The quartiles of the medians of the turns, which tell how much the median itself varies. */
  readonly medianNs: readonly [low: number, high: number]
}

/** The time of a sample, of which reading the clock twice is less than one percent. */
const SAMPLE_NS = 10_000
/** The time of a turn of one contestant. */
const TURN_NS = 10e6
/** The largest part of the time that the warm-up takes. */
const WARM_UP = 0.2
const FEWEST_TURNS = 5

const now = (): number => performance.now() * 1e6

/**
 * Measures contestants in turns, so that an influence on a while of the measurement has the same effect on all of them.
 *
 * @param time how long each contestant runs, in nanoseconds, with its warm-up
 * @param betweenTurns is awaited after each turn
 */
export async function measure(
  contestants: readonly Contestant[],
  time: number,
  betweenTurns: () => Promise<void>,
): Promise<Distribution[]> {
  const runners = contestants.map(({ run }) => ({
    run,
    runsPerSample: warmUp(run, time * WARM_UP),
    turns: [] as number[][],
  }))
  const turns = Math.max(FEWEST_TURNS, Math.round((time * (1 - WARM_UP)) / TURN_NS))
  for (let turn = 0; turn < turns; turn += 1) {
    for (let place = 0; place < runners.length; place += 1) {
      const runner = runners[(turn + place) % runners.length]!
      // The first run of a turn has the caches of the neighbour.
      if (runners.length > 1) runner.run()
      runner.turns.push(takeSamples(runner.run, runner.runsPerSample))
      await betweenTurns()
    }
  }
  return runners.map(({ runsPerSample, turns: own }, i) => distribution(contestants[i]!.name, runsPerSample, own))
}

/** Runs for a while, and returns how many runs a sample has. The fastest of the batches counts, because others can be interrupted. */
function warmUp(run: () => void, time: number): number {
  const start = now()
  let fastest = Infinity
  for (let runs = 1; ; runs = Math.min(runs * 8, Math.max(1, Math.ceil(SAMPLE_NS / fastest)))) {
    const begin = now()
    for (let i = 0; i < runs; i += 1) run()
    const end = now()
    // The clock has steps.
    fastest = Math.min(fastest, Math.max(end - begin, 100) / runs)
    if (end - start >= time) return Math.max(1, Math.ceil(SAMPLE_NS / fastest))
  }
}

function takeSamples(run: () => void, runsPerSample: number): number[] {
  const samples: number[] = []
  const start = now()
  for (let begin = start, end = start; end - start < TURN_NS; begin = end) {
    for (let i = 0; i < runsPerSample; i += 1) run()
    end = now()
    samples.push((end - begin) / runsPerSample)
  }
  return samples
}

function distribution(name: string, runsPerSample: number, turns: readonly (readonly number[])[]): Distribution {
  const samples = turns.flat().toSorted((a, b) => a - b)
  const medians = turns
    .map((turn) =>
      quantile(
        turn.toSorted((a, b) => a - b),
        0.5,
      ),
    )
    .toSorted((a, b) => a - b)
  return {
    name,
    runs: samples.length * runsPerSample,
    runsPerSample,
    meanNs: samples.reduce((sum, sample) => sum + sample, 0) / samples.length,
    p50Ns: quantile(samples, 0.5),
    p90Ns: quantile(samples, 0.9),
    p99Ns: quantile(samples, 0.99),
    medianNs: [quantile(medians, 0.25), quantile(medians, 0.75)],
  }
}
