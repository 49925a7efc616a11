import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The result of a mutant. Those of `not covered` run in no test. */
export type Status = 'killed' | 'timeout' | 'survived' | 'not covered'

/** A result with what it depends on. */
export interface KeptResult {
  readonly status: Status
  /** The test that failed. */
  readonly by?: string
  /** The hash of the file with the mutant, and of all headers. */
  readonly source: string
  /** The hash of the tests that could have another result: the files that ran when one failed, or all that run the code. */
  readonly tests: string
  /** The files of the tests that ran when one failed or ran out of time. */
  readonly files?: readonly string[]
}

/** What the tests of a file ran without a mutant. */
export interface KeptRun {
  /** The hash of the test and of all sources. */
  readonly hash: string
  readonly milliseconds: number
  readonly keys: readonly string[]
}

interface Kept {
  readonly results: Record<string, KeptResult>
  readonly runs: Record<string, KeptRun>
}

/** The results of earlier runs, in a file that is written every now and then, so that a run that is ended loses little. */
export class Results {
  readonly #path: string
  readonly #kept: Kept
  #saved = 0

  constructor(path: string) {
    this.#path = path
    this.#kept = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Kept) : { results: {}, runs: {} }
  }

  result(key: string): KeptResult | undefined {
    return this.#kept.results[key]
  }

  setResult(key: string, result: KeptResult): void {
    this.#kept.results[key] = result
    this.#saveSometimes()
  }

  run(test: string): KeptRun | undefined {
    return this.#kept.runs[test]
  }

  setRun(test: string, run: KeptRun): void {
    this.#kept.runs[test] = run
    this.#saveSometimes()
  }

  #saveSometimes(): void {
    if (performance.now() - this.#saved > 5000) this.save()
  }

  /** Replaces the file as a whole. */
  save(): void {
    mkdirSync(dirname(this.#path), { recursive: true })
    const temporary = `${this.#path}.${process.pid}`
    writeFileSync(temporary, JSON.stringify(this.#kept))
    renameSync(temporary, this.#path)
    this.#saved = performance.now()
  }
}
