/** How much the fuzz tests of one file run. */
export interface FuzzBudget {
  /** The parameters of a property: 300 random inputs, or as many as fit into this test's part of TENON_FUZZ_SECONDS. */
  readonly property: {
    readonly numRuns: number
    readonly interruptAfterTimeLimit?: number
    readonly markInterruptAsFailure?: boolean
  }
  /** The options of a test. */
  readonly test: { readonly timeout: number }
}

/** Divides the time that TENON_FUZZ_SECONDS allows among the tests of a file. */
export function fuzzBudget(testCount: number): FuzzBudget {
  const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
  const property =
    seconds === 0
      ? { numRuns: 300 }
      : {
          numRuns: Number.MAX_SAFE_INTEGER,
          interruptAfterTimeLimit: (seconds * 1000) / testCount,
          markInterruptAsFailure: false,
        }
  return { property, test: { timeout: 30_000 + seconds * 1000 } }
}
