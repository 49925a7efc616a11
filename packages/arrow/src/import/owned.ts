import { AllocationError, ScopeClosedError, type TenonError } from '@tenon/core'
import {
  addressOf,
  checkStatus,
  coreFunctionAddress,
  coreFunctions,
  CONSTANTS,
  enteredFunctions,
  lastError,
  STATUS,
  threadDriver,
} from '@tenon/core/internal'

/** A struct that this thread owns: its handle for native code, and where it is. */
export interface Owned {
  readonly handle: number
  readonly address: number
}

/** The kinds of structs. */
export const KIND: Readonly<Record<'schema' | 'array' | 'stream', number>> = {
  schema: CONSTANTS.TN_ARROW_SCHEMA,
  array: CONSTANTS.TN_ARROW_ARRAY,
  stream: CONSTANTS.TN_ARROW_STREAM,
}

const out = new BigUint64Array(2)

function settle(status: number): Owned {
  if (status === STATUS.OK.value) return { handle: Number(out[0]), address: Number(out[1]) }
  throw failure(status)
}

function failure(status: number): TenonError {
  if (status === STATUS.OUT_OF_MEMORY.value) return new AllocationError(lastError())
  return new ScopeClosedError('no struct of Arrow can be made: this thread is shutting down')
}

/** Makes a struct that native code will fill. @throws {AllocationError} @throws {ScopeClosedError} while the thread ends. */
export function createStruct(kind: number): Owned {
  threadDriver()
  return settle(coreFunctions().tn_arrow_create(kind, addressOf(out)))
}

/** Moves a struct, whose source is released afterwards. Undefined if it is released already. @throws as {@link createStruct} */
export function takeStruct(kind: number, source: number): Owned | undefined {
  threadDriver()
  const status = coreFunctions().tn_arrow_take(kind, source, addressOf(out))
  return status === STATUS.NOT_FOUND.value ? undefined : settle(status)
}

let release: ((handle: number) => number) | undefined

/** Calls the release function of a struct, unless native code has moved it, and frees the struct. Once. @throws what that function throws */
export function releaseStruct(handle: number): void {
  release ??= enteredFunctions<'tn_arrow_release'>(
    { tn_arrow_release: ['void', 1] },
    coreFunctionAddress,
  ).tn_arrow_release
  release(handle)
}

/** Checks the status of a function that fills a struct. @throws {AllocationError | NativeError} */
export function checkFilled(status: number, what: string): void {
  if (status === STATUS.OUT_OF_MEMORY.value) throw new AllocationError(lastError())
  checkStatus(status, what)
}
