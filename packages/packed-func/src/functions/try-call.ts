import { isTraced, traceCall } from '@tenon/core/internal'
import { takeErrorText } from '../errors/crossing.ts'
import type { Value } from '../values/argument.ts'
import { unpack } from '../values/unpack.ts'
import { type Callee, calls, packedTrace } from './call.ts'

/** The outcome of a call that returns errors instead of throwing them. */
export type CallResult<Result = Value> =
  | { readonly ok: true; readonly value: Result }
  | { readonly ok: false; readonly kind: string; readonly sentence: string }

/** Calls a function and returns the error that it raises. @throws as the call does before the function runs */
export function tryCall(callee: Callee, values: readonly unknown[]): CallResult {
  const call = (): CallResult =>
    calls().all(callee, values, (s, base, typeIndex) =>
      typeIndex === -1 ? { ok: false, ...takeErrorText(s, base) } : { ok: true, value: unpack(s, base, typeIndex) },
    )
  return isTraced() ? traceCall(packedTrace(callee, values, false), call) : call()
}
