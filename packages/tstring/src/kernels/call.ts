import { AllocationError, type Segment } from '@tenon/core'
import { checkStatus, CONSTANTS, lastError, LAYOUTS, statusName } from '@tenon/core/internal'
import { ruleError, ruleNames, type Rule } from '../errors/rules.ts'
import { withOpen } from '../memory/open.ts'
import { NativeStruct } from './descriptor.ts'

/** The `tn_tstring_fault_t` of this thread, which kernels fill when a rule is broken. */
let fault: NativeStruct | undefined

const { size: FAULT_SIZE, offsets: FAULT } = LAYOUTS.tn_tstring_fault_t

/** The rules by the numbers of their checks in the C core. */
const rules = new Map<number, Rule>(
  ruleNames.map((rule) => {
    const name = `TN_TSTRING_CHECK_${rule.toUpperCase().replaceAll('-', '_')}`
    return [CONSTANTS[name as keyof typeof CONSTANTS], rule]
  }),
)

/**
 * Calls a kernel of the C core and keeps segments open meanwhile.
 *
 * @throws {MalformedTensorError | TensorLimitError} for a broken rule. @throws {AllocationError} without memory.
 * @throws {NativeError} for other errors. @throws {LoadError} if the core cannot be loaded.
 */
export function callKernel(open: readonly Segment[], kernel: (faultAddress: number) => number): void {
  fault ??= new NativeStruct(FAULT_SIZE)
  fault.setInt(FAULT.check, CONSTANTS.TN_TSTRING_CHECK_NONE)
  const { address } = fault
  const status = withOpen(open, () => kernel(address))
  if (status === 0) return
  const rule = rules.get(fault.getInt(FAULT.check))
  if (rule !== undefined) {
    throw ruleError(rule, fault.getSize(FAULT.index), fault.getSize(FAULT.value), fault.getSize(FAULT.limit))
  }
  if (statusName(status) === 'OUT_OF_MEMORY') throw new AllocationError(lastError())
  checkStatus(status, 'reading a string tensor')
}
