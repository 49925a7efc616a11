import type { CallMaker } from './call-function.ts'
import { inPlaceRuns, runTaken, type PreparedCall } from './prepared-call.ts'

/** The maker of functions whose calls run in this process. */
export const preparedCalls: Pick<CallMaker<PreparedCall>, 'run' | 'inPlace' | 'runAsync'> = {
  run: runTaken,
  inPlace: inPlaceRuns,
  runAsync: async (call, tensors, options) => {
    const { operandCount } = call.shape
    try {
      await call.runAsync(tensors.slice(0, operandCount), tensors.slice(operandCount), options)
    } finally {
      call.closeAfterRun()
    }
  },
}
