import { AllocationError, type Segment } from '@tenon/core'
import { checkStatus, coreFunction, lastError, statusName, type CFunction, type CType } from '@tenon/core/internal'
import { ruleError, ruleNames } from '../errors/rules.ts'
import { withOpen } from '../memory/open.ts'
import { NativeStruct } from './descriptor.ts'

/** The `tn_tstring_fault_t` of this thread, which kernels fill when a rule is broken. */
let fault: NativeStruct | undefined

const declared = new Map<string, CFunction>()

/** Returns a function of the core that returns a status. Declares it at its first use. */
function functionOf(name: string, parameters: readonly CType[]): (...values: number[]) => number {
  let found = declared.get(name)
  if (found === undefined) {
    found = coreFunction(name, 'int32_t', parameters)
    declared.set(name, found)
  }
  return found
}

/**
 * Calls a kernel of the C core and keeps segments open meanwhile. The kernel's last parameter is the fault.
 *
 * @throws {MalformedTensorError | TensorLimitError} for a broken rule. @throws {AllocationError} without memory.
 * @throws {NativeError} for other errors. @throws {LoadError} if the core cannot be loaded.
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
    throw ruleError(ruleNames[check - 1]!, fault.getSize(8), fault.getSize(16), fault.getSize(24))
  }
  if (statusName(status) === 'OUT_OF_MEMORY') throw new AllocationError(lastError())
  checkStatus(status, name)
}
