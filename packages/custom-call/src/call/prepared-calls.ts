import type { CallMaker } from './call-function.ts'
import { inPlaceRuns, runTaken, type PreparedCall } from './prepared-call.ts'

/** The maker of functions whose calls run in this process. */
export const preparedCalls: Pick<CallMaker<PreparedCall>, 'run' | 'inPlace' | 'runAsync'> = {
  run: runTaken,
  inPlace: inPlaceRuns,
  runAsync: async (call, operands, results, options) => {
    try {
      await call.runAsync(operands, results, options)
    } finally {
      call.closeAfterRun()
    }
  },
}
