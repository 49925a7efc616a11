/** The time that TENON_FUZZ_SECONDS allows, in seconds; 0 for a short run. */
export const fuzzSeconds: number = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)

interface FuzzBudget {
  readonly numRuns: number
  readonly interruptAfterTimeLimit?: number
  readonly markInterruptAsFailure?: boolean
}

/** The parameters of a property: a hundred runs, or as many as fit into {@link fuzzSeconds}. */
export const fuzzBudget: FuzzBudget =
  fuzzSeconds === 0
    ? { numRuns: 100 }
    : { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: fuzzSeconds * 1000, markInterruptAsFailure: false }
