import { AllocationError, BoundsError, type Segment } from '@tenon/core'
import { checkStatus, coreFunctions, lastError, statusName, type CoreFunctions } from '@tenon/core/internal'
import { checkSegment, checkWritable, withOpen } from '../memory/open.ts'

/** Calls a function that returns a status, and keeps memory open meanwhile. @throws {AllocationError | NativeError} */
export function callElement(action: string, open: readonly Segment[], call: (core: CoreFunctions) => number): void {
  const core = coreFunctions()
  const status = withOpen(open, () => call(core))
  if (status === 0) return
  if (statusName(status) === 'OUT_OF_MEMORY') throw new AllocationError(`${action}: ${lastError()}`)
  checkStatus(status, action)
}

/** Reads the segment of a string that may be changed once. @throws {BoundsError | ReadOnlyError | ScopeClosedError} */
export function checkString(string: Segment, name = 'string', byteSize = 24): Segment {
  const segment = checkSegment(string, name, `a Segment of ${byteSize} bytes`)
  if (segment.byteSize < byteSize) {
    throw new BoundsError(`${name} must have the ${byteSize} bytes of its struct, got ${segment.byteSize}`, {
      details: { name, expected: byteSize, received: segment.byteSize },
    })
  }
  checkWritable(segment)
  return segment
}
