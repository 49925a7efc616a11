import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import {
  DryRunStatus,
  type DryRunResult,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestRunner,
  type TestRunnerCapabilities,
  TestStatus,
} from '@stryker-mutator/api/test-runner'
import { createVitest, type Vitest } from 'vitest/node'

import { leftOutFile, type LeftOutTest, type Outcome, type RanTest } from './messages.ts'
import { TestProcess, TestProcessEnded } from './test-process.ts'

/** The environment variable with the directory for what runs of one package share. */
export const CACHE = 'TENON_MUTATE_CACHE'

/** In milliseconds. Tests that take as long as this are those of loads, for which mutants have no time. */
const TEST_TIMEOUT = 30_000

/** In milliseconds of processor time. A mutant that survives costs the time of all tests that reach it. */
const SLOWEST = 1000

/** Tests that are not run for mutants: they need a process of their own, or take long. */
const LEFT_OUT = '**/*.{crash,fuzz,process,soak}.test.ts'

/**
 * Runs the tests of a package for mutants, in one process that has loaded them. A failure counts only if the same test passes without the mutant
 * in the same process: what an earlier mutant left there must not decide about another one.
 */
export class MutantTestRunner implements TestRunner {
  #vitest: Vitest | undefined
  #process: TestProcess | undefined
  readonly #leftOut = new Map<string, LeftOutTest['reason']>()

  capabilities(): TestRunnerCapabilities {
    return { reloadEnvironment: true }
  }

  async init(): Promise<void> {
    process.on('disconnect', () => process.exit())
    process.env['VITEST'] = '1'
    process.env['NODE_ENV'] = 'test'
    const vitest = await createVitest('test', {
      config: resolve('vitest.config.ts'),
      project: ['shared'],
      watch: false,
      reporters: [{}],
      silent: true,
      maxWorkers: 1,
      includeTaskLocation: true,
      testTimeout: TEST_TIMEOUT,
      hookTimeout: TEST_TIMEOUT,
      coverage: { enabled: false },
      onConsoleLog: () => false,
    })
    for (const { config } of vitest.projects) {
      config.runner = join(import.meta.dirname, 'test-server.ts')
      config.isolate = false
      config.exclude.push(LEFT_OUT)
      config.testTimeout = TEST_TIMEOUT
      config.hookTimeout = TEST_TIMEOUT
    }
    this.#vitest = vitest
  }

  async dryRun(): Promise<DryRunResult> {
    const tests = await this.#start(true)
    const { reached } = tests.loaded
    const passed = tests.loaded.tests.filter(({ state }) => state === 'pass')
    const failed = tests.loaded.tests.filter(({ state }) => state === 'fail')
    if (failed.length > 0) return { status: DryRunStatus.Complete, tests: failed.map(toResult) }
    const slow = passed.filter(({ milliseconds }) => milliseconds > SLOWEST).map(({ id }) => id)
    this.#leaveOut(slow, 'is slow')
    await this.#findUnreliable(passed)
    const usable = passed.filter(({ id }) => !this.#leftOut.has(id))
    const perTest = Object.fromEntries(usable.map(({ id }) => [id, reached.perTest[id] ?? {}]))
    return {
      status: DryRunStatus.Complete,
      tests: usable.map(toResult),
      mutantCoverage: { static: { ...reached.static }, perTest },
    }
  }

  async mutantRun({ activeMutant: { id }, testFilter = [], hitLimit }: MutantRunOptions): Promise<MutantRunResult> {
    const started = Date.now()
    const took = (): number => Date.now() - started
    for (;;) {
      const tests = testFilter.filter((test) => !this.#leftOut.has(test))
      const wasFresh = (await this.#current()).isFresh
      const outcome = await this.#run(id, tests, hitLimit)
      if (outcome instanceof TestProcessEnded) {
        const test = outcome.test ?? tests[0]!
        // What earlier mutants left in the process may be the cause, or a machine that is busy.
        if (!outcome.hung && !wasFresh) continue
        if (!(await this.#passes(test))) this.#leaveOut([test], 'fails when it runs again')
        else if (outcome.hung) return { status: MutantRunStatus.Timeout, reason: outcome.message, duration: took() }
        else return killed(test, outcome.message, 1, took())
        continue
      }
      const { failed, hits, ran } = outcome
      if (hitLimit !== undefined && hits > hitLimit) {
        this.#discard()
        return { status: MutantRunStatus.Timeout, reason: 'an endless loop', duration: took() }
      }
      if (failed === undefined) {
        // Code whose result the process has kept did not run again.
        if (hits > 0 || wasFresh) return { status: MutantRunStatus.Survived, nrOfTests: ran, duration: took() }
        this.#discard()
      } else if (await this.#passes(failed.test)) {
        if (!/timed out/.test(failed.message) || (await this.#failsAgain(id, failed.test, hitLimit)))
          return killed(failed.test, failed.message, ran, took())
        this.#leaveOut([failed.test], 'fails when it runs again')
      } else {
        this.#discard()
        if (!wasFresh) continue
        if (await this.#passes(failed.test)) return killed(failed.test, failed.message, ran, took())
        this.#leaveOut([failed.test], 'fails when it runs again')
      }
    }
  }

  async dispose(): Promise<void> {
    this.#discard()
    await Promise.race([this.#vitest?.close(), setTimeout(1000)])
  }

  /** Notes tests for this process and those that run beside it. */
  #leaveOut(tests: readonly string[], reason: LeftOutTest['reason']): void {
    for (const test of tests) this.#leftOut.set(test, reason)
    const list = [...this.#leftOut].map(([test, why]) => ({ test, reason: why }))
    writeFileSync(leftOutFile(process.env[CACHE]!), JSON.stringify(list, null, 2))
  }

  /** Runs tests, and discards the process if they end it. */
  async #run(
    mutant: string | undefined,
    tests: readonly string[],
    hitLimit?: number | undefined,
  ): Promise<Outcome | TestProcessEnded> {
    try {
      return await (await this.#current()).run({ mutant, tests, hitLimit })
    } catch (error) {
      if (!(error instanceof TestProcessEnded)) throw error
      this.#discard()
      return error
    }
  }

  /** Whether a test passes without a mutant. */
  async #passes(test: string): Promise<boolean> {
    const outcome = await this.#run(undefined, [test])
    return !(outcome instanceof TestProcessEnded) && outcome.failed === undefined
  }

  /** A test that takes too long once may do so because the machine is busy. */
  async #failsAgain(mutant: string, test: string, hitLimit: number | undefined): Promise<boolean> {
    const outcome = await this.#run(mutant, [test], hitLimit)
    return outcome instanceof TestProcessEnded || outcome.failed !== undefined
  }

  /** Runs all tests again, each file from the one that failed on. */
  async #findUnreliable(tests: readonly RanTest[]): Promise<void> {
    for (const file of new Set(tests.map((test) => test.file))) {
      for (;;) {
        const left = tests.filter((test) => test.file === file && !this.#leftOut.has(test.id)).map(({ id }) => id)
        if (left.length === 0) break
        const outcome = await this.#run(undefined, left)
        const failed = outcome instanceof TestProcessEnded ? (outcome.test ?? left[0]!) : outcome.failed?.test
        if (failed === undefined) break
        this.#leaveOut([failed], 'fails when it runs again')
      }
    }
  }

  async #current(): Promise<TestProcess> {
    return (this.#process ??= await TestProcess.start(this.#vitest!, false))
  }

  async #start(isFirst: boolean): Promise<TestProcess> {
    return (this.#process = await TestProcess.start(this.#vitest!, isFirst))
  }

  #discard(): void {
    this.#process?.close()
    this.#process = undefined
  }
}

function killed(test: string, failureMessage: string, nrOfTests: number, duration: number): MutantRunResult {
  return { status: MutantRunStatus.Killed, killedBy: [test], failureMessage, nrOfTests, duration }
}

function toResult({ id, name, file, state, milliseconds, message, line, column }: RanTest) {
  const common = {
    id,
    name,
    timeSpentMs: milliseconds,
    fileName: resolve(file),
    startPosition: { line: line - 1, column: column - 1 },
  }
  return state === 'fail'
    ? { ...common, status: TestStatus.Failed as const, failureMessage: message }
    : { ...common, status: TestStatus.Success as const }
}
