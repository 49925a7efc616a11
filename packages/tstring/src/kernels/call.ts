import { AllocationError, type Segment } from '@tenon/core'
import { checkStatus, coreFunction, lastError, statusName, type CFunction, type CType } from '@tenon/core/internal'
import { faultError, type Check } from '../errors/checks.ts'
import { withOpen } from '../memory/open.ts'
import { NativeStruct } from './descriptor.ts'

/** The `tn_tstring_fault_t` of this thread. */
let fault: NativeStruct | undefined

const declared = new Map<string, CFunction>()

/** A function of the core that returns a status, declared at its first use. */
function functionOf(name: string, parameters: readonly CType[]): (...values: number[]) => number {
  let found = declared.get(name)
  if (found === undefined) {
    found = coreFunction(name, 'int32_t', parameters)
    declared.set(name, found)
  }
  return found
}

/**
 * Calls a kernel of the C core, whose last parameter is the fault, with segments held open.
 *
 * @throws {MalformedTensorError | TensorLimitError} what the fault says. @throws {AllocationError} without memory.
 * @throws {NativeError} for the rest. @throws {LoadError} if the core can't be loaded.
 */
export function callKernel(
  name: string,
  parameters: readonly CType[],
  values: number[],
  open: readonly Segment[],
): void {
  const kernel = functionOf(name, [...parameters, 'uintptr_t'])
  fault ??= new NativeStruct(32)
  fault.setInt(4, 0)
  const { address } = fault
  const status = withOpen(open, () => kernel(...values, address))
  if (status === 0) return
  const check = fault.getInt(4)
  if (check !== 0) {
    throw faultError({
      check: check as Check,
      index: fault.getSize(8),
      value: fault.getSize(16),
      limit: fault.getSize(24),
    })
  }
  if (statusName(status) === 'OUT_OF_MEMORY') throw new AllocationError(lastError())
  checkStatus(status, name)
}
