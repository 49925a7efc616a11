/** What `pnpm coverage` uses of the package, which has no declarations. */
declare module '@bcoe/v8-coverage' {
  import type { Profiler } from 'node:inspector'

  /** A file that Node.js writes to the directory `NODE_V8_COVERAGE`. */
  export interface ProcessCov {
    result: Profiler.ScriptCoverage[]
  }

  /** The sum of several processes. */
  export function mergeProcessCovs(processes: readonly ProcessCov[]): ProcessCov
}
