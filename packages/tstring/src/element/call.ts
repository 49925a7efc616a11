import { AllocationError, ArgumentError, BoundsError, type Segment } from '@tenon/core'
import { checkStatus, lastError, statusName } from '@tenon/core/internal'
import { checkWritable, withOpen } from '../memory/open.ts'

/** Bytes of one TF_TString. */
const TSTRING_SIZE = 24

/** Runs a function that returns a status, with the memory held open. @throws {AllocationError | NativeError} */
export function callElement(what: string, open: readonly Segment[], call: () => number): void {
  const status = withOpen(open, call)
  if (status === 0) return
  if (statusName(status) === 'OUT_OF_MEMORY') throw new AllocationError(`${what}: ${lastError()}`)
  checkStatus(status, what)
}

/** Checks that a segment holds a string that may be changed. @throws {BoundsError | ReadOnlyError | ScopeClosedError} */
export function checkString(string: Segment, name: string): Segment {
  if (string?.block === undefined) throw new ArgumentError(`${name} must be a segment of ${TSTRING_SIZE} bytes`)
  if (string.byteSize < TSTRING_SIZE) {
    throw new BoundsError(`${name} must have the ${TSTRING_SIZE} bytes of a TF_TString, it has ${string.byteSize}`)
  }
  checkWritable(string)
  return string
}
