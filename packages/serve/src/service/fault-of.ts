import { LoadError } from '@tenon/core'
import { CrashLoopError } from 'tenon/isolate'

/** The processes of a model crashed so often that none is started. */
export const CRASH_LOOP = 'the model crashes again and again'
/** A process of the model that started after another file came to the path of its library, which it does not load. */
export const REPLACED = 'the library of the model was replaced'

/** Why requests fail until their model is loaded again. */
export type Fault = typeof CRASH_LOOP | typeof REPLACED

/** Returns why the requests after a failed one will fail as well; undefined if they need not. */
export function faultOf(error: unknown): Fault | undefined {
  if (error instanceof CrashLoopError) return CRASH_LOOP
  return error instanceof LoadError && error.details['isReplaced'] === true ? REPLACED : undefined
}
