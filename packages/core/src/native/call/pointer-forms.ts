import { callStack } from '../../memory/call-stack.ts'
import { callSteps, type Form, type Target } from './call-steps.ts'
import { argumentSteps, type Slot } from './store.ts'

/** A function, for the reason that `makeSteps()` has. */
function makeForms(): readonly ((target: Target) => Form)[] {
  const { check, checkOperand, begin, performAndLeave, finish } = callSteps
  const { operandOf, addressIn, storeAddress } = argumentSteps
  const { enterCallOf } = callStack

  function ofOne(target: Target): Form {
    const { code } = target
    const [slot] = target.slots as [Slot]
    return function (value) {
      check(target, arguments.length)
      const memory = operandOf(value, code)
      const a = addressIn(memory, slot, value)
      checkOperand(code)
      checkOperand(memory)
      begin(target)
      storeAddress(slot, a)
      enterCallOf(code, memory)
      performAndLeave(target)
      return finish(target, memory, a)
    }
  }

  function ofTwo(target: Target): Form {
    const { code } = target
    const [slot0, slot1] = target.slots as [Slot, Slot]
    return function (value0, value1) {
      check(target, arguments.length)
      const memory0 = operandOf(value0, code)
      const memory1 = operandOf(value1, code)
      const a = addressIn(memory0, slot0, value0)
      const b = addressIn(memory1, slot1, value1)
      checkOperand(code)
      checkOperand(memory0)
      checkOperand(memory1)
      begin(target)
      storeAddress(slot0, a)
      storeAddress(slot1, b)
      enterCallOf(code, memory0, memory1)
      performAndLeave(target)
      return finish(target, memory0, a)
    }
  }

  function ofThree(target: Target): Form {
    const { code } = target
    const [slot0, slot1, slot2] = target.slots as [Slot, Slot, Slot]
    return function (value0, value1, value2) {
      check(target, arguments.length)
      const memory0 = operandOf(value0, code)
      const memory1 = operandOf(value1, code)
      const memory2 = operandOf(value2, code)
      const a = addressIn(memory0, slot0, value0)
      const b = addressIn(memory1, slot1, value1)
      const c = addressIn(memory2, slot2, value2)
      checkOperand(code)
      checkOperand(memory0)
      checkOperand(memory1)
      checkOperand(memory2)
      begin(target)
      storeAddress(slot0, a)
      storeAddress(slot1, b)
      storeAddress(slot2, c)
      enterCallOf(code, memory0, memory1, memory2)
      performAndLeave(target)
      return finish(target, memory0, a)
    }
  }

  function ofFour(target: Target): Form {
    const { code } = target
    const [slot0, slot1, slot2, slot3] = target.slots as [Slot, Slot, Slot, Slot]
    return function (value0, value1, value2, value3) {
      check(target, arguments.length)
      const memory0 = operandOf(value0, code)
      const memory1 = operandOf(value1, code)
      const memory2 = operandOf(value2, code)
      const memory3 = operandOf(value3, code)
      const a = addressIn(memory0, slot0, value0)
      const b = addressIn(memory1, slot1, value1)
      const c = addressIn(memory2, slot2, value2)
      const d = addressIn(memory3, slot3, value3)
      checkOperand(code)
      checkOperand(memory0)
      checkOperand(memory1)
      checkOperand(memory2)
      checkOperand(memory3)
      begin(target)
      storeAddress(slot0, a)
      storeAddress(slot1, b)
      storeAddress(slot2, c)
      storeAddress(slot3, d)
      enterCallOf(code, memory0, memory1, memory2, memory3)
      performAndLeave(target)
      return finish(target, memory0, a)
    }
  }

  return [ofOne, ofTwo, ofThree, ofFour]
}

/**
 * The forms of calls whose arguments are all pointers, by the number of arguments less one. They are apart from the others,
 * because the compiler would not inline the steps for all kinds.
 */
export const pointerForms: readonly ((target: Target) => Form)[] = makeForms()
