import { hashOf } from '@tenon/build/internal'

import { groupBy } from './group-by.ts'
import { mutantKey, topicOf } from './mutant.ts'
import type { NumberedMutant } from './render.ts'
import type { KeptResult, Results } from './results.ts'
import { measureTestFile, type TestFile, type TestPlace, tryMutant } from './test-files.ts'

/** What a run measures, and for how long. */
export interface Plan {
  readonly mutants: readonly NumberedMutant[]
  readonly tests: readonly TestFile[]
  readonly place: TestPlace
  readonly results: Results
  /** The hash of a source or a test, and of what it includes. */
  readonly hashOfFile: (file: string) => string
  /** The time at which no other mutant is begun, as of `performance.now()`. */
  readonly end: number
  /** How many mutants are tried at once. */
  readonly jobs: number
  /** A test that takes less time is not ended. */
  readonly leastLimitMs: number
  /** Called with each result: those of earlier runs first. */
  readonly onResult: (mutant: NumberedMutant, result: KeptResult, isNew: boolean) => void
}

/** A test file with what it runs. */
interface Measured extends TestFile {
  readonly milliseconds: number
}

/** A test that takes this many times longer than without a mutant has run out of time. The machine may have become busier. */
const SLOWER = 5
const FAST_MS = 500
/** The longest time of slow tests for a mutant. */
const MOST_MS = 20_000

/** Tries mutants until the time is over. Results of earlier runs that nothing has changed since are kept. */
export async function measureMutants(plan: Plan): Promise<void> {
  const covering = await findCoveringTests(plan)
  const queue = plan.mutants.filter((mutant) => {
    const kept = findKept(plan, mutant, covering.get(mutant.number) ?? [])
    if (kept === undefined) return true
    plan.onResult(mutant, kept, false)
    return false
  })
  await inParallel(queue, plan.jobs, async (mutant) => {
    if (performance.now() >= plan.end) return
    const result = await measureMutant(plan, mutant, covering.get(mutant.number) ?? [])
    plan.results.setResult(mutantKey(mutant), result)
    plan.onResult(mutant, result, true)
  })
  plan.results.save()
}

/** The tests that run the code of each mutant, the fastest first. */
async function findCoveringTests(plan: Plan): Promise<Map<number, Measured[]>> {
  const { mutants, tests, place, results, hashOfFile, jobs } = plan
  const files = [...new Set(mutants.map(({ file }) => file))]
  const sources = hashOf(files.map(hashOfFile))
  const numbers = new Map(mutants.map((mutant) => [mutantKey(mutant), mutant.number]))
  const keys = new Map(mutants.map((mutant) => [mutant.number, mutantKey(mutant)]))
  const most = Math.max(0, ...mutants.map(({ number }) => number))
  const covering = new Map<number, Measured[]>()
  const cover = async (test: TestFile): Promise<void> => {
    const name = `${test.program} ${test.file} ${files.join()}`
    const hash = hashOf([sources, hashOfFile(test.file)])
    let run = results.run(name)
    if (run?.hash !== hash) {
      const { milliseconds, mutants: numbersRun } = await measureTestFile(test, most, place)
      run = { hash, milliseconds, keys: [...numbersRun].flatMap((number) => keys.get(number) ?? []) }
      results.setRun(name, run)
    }
    for (const key of run.keys) {
      const number = numbers.get(key)
      if (number === undefined) continue
      const others = covering.get(number)
      const measured = { ...test, milliseconds: run.milliseconds }
      if (others === undefined) covering.set(number, [measured])
      else others.push(measured)
    }
  }
  await inParallel(tests, jobs, cover)
  for (const some of covering.values()) some.sort((a, b) => a.milliseconds - b.milliseconds)
  return covering
}

/** Calls a function for each item, for some of them at once. */
async function inParallel<T>(items: readonly T[], jobs: number, use: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items]
  const next = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await use(item)
  }
  await Promise.all(Array.from({ length: jobs }, next))
}

function findKept(plan: Plan, mutant: NumberedMutant, tests: readonly Measured[]): KeptResult | undefined {
  const kept = plan.results.result(mutantKey(mutant))
  if (kept === undefined || kept.source !== plan.hashOfFile(mutant.file)) return undefined
  return kept.tests === hashOfTests(plan, kept.files ?? filesOf(tests)) ? kept : undefined
}

function filesOf(tests: readonly Measured[]): string[] {
  return tests.map(({ file }) => file)
}

function hashOfTests({ hashOfFile }: Plan, files: readonly string[]): string {
  return hashOf([...new Set(files)].toSorted().map(hashOfFile))
}

async function measureMutant(plan: Plan, mutant: NumberedMutant, tests: readonly Measured[]): Promise<KeptResult> {
  const source = plan.hashOfFile(mutant.file)
  for (const some of inGroups(mutant, tests)) {
    const milliseconds = some.reduce((sum, test) => sum + test.milliseconds, 0)
    const limit = Math.max(plan.leastLimitMs, SLOWER * milliseconds)
    const verdict = await tryMutant(mutant.number, some, limit, plan.place)
    const files = filesOf(some)
    if (verdict.status !== 'survived') return { ...verdict, source, tests: hashOfTests(plan, files), files }
  }
  return { status: tests.length === 0 ? 'not covered' : 'survived', source, tests: hashOfTests(plan, filesOf(tests)) }
}

/**
 * Groups tests that run in one process, in the order in which they are run: the fast ones of the topic, other fast ones, and slow ones one
 * by one. Slow ones of C that would take too long together are left out.
 */
function inGroups(mutant: NumberedMutant, tests: readonly Measured[]): Measured[][] {
  const isFast = ({ milliseconds }: Measured): boolean => milliseconds < FAST_MS
  const isOfTopic = ({ file }: Measured): boolean => file.split('/').includes(topicOf(mutant.file))
  const rank = (test: Measured): number => (isOfTopic(test) ? 0 : 1) + (test.file.endsWith('.c') ? 0 : 2)
  const groups = groupBy(tests.filter(isFast), (test) => `${test.program} ${isOfTopic(test) ? 0 : 1}`)
  const fast = [...groups].toSorted(([a], [b]) => Number(a.at(-1)) - Number(b.at(-1))).map(([, group]) => group)
  const slow: Measured[][] = []
  let left = MOST_MS
  for (const test of tests.filter((each) => !isFast(each)).toSorted((a, b) => rank(a) - rank(b))) {
    const isC = test.file.endsWith('.c')
    if (isC) left -= test.milliseconds
    if (!isC || left >= 0) slow.push([test])
  }
  return [...fast, ...slow]
}
