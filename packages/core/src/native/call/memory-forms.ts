import { enterCall, leaveCall } from '../../memory/call-stack.ts'
import { begin, check, checkOperands, finish, type Form, type Target } from './call-steps.ts'
import { operandOf, resolveIn, type Slot, store } from './store.ts'

function ofOne(target: Target): Form {
  const { code, enter } = target
  const [slot] = target.slots as [Slot]
  return function (value) {
    check(target, arguments.length)
    const memory = operandOf(value, code)
    const a = resolveIn(memory, slot, value)
    const operands = [code, memory]
    checkOperands(operands)
    enterCall(operands)
    try {
      begin(target)
      store(slot, a)
      enter()
      return finish(target, memory, a)
    } finally {
      leaveCall()
    }
  }
}

function ofTwo(target: Target): Form {
  const { code, enter } = target
  const [slot0, slot1] = target.slots as [Slot, Slot]
  return function (value0, value1) {
    check(target, arguments.length)
    const memory0 = operandOf(value0, code)
    const memory1 = operandOf(value1, code)
    const a = resolveIn(memory0, slot0, value0)
    const b = resolveIn(memory1, slot1, value1)
    const operands = [code, memory0, memory1]
    checkOperands(operands)
    enterCall(operands)
    try {
      begin(target)
      store(slot0, a)
      store(slot1, b)
      enter()
      return finish(target, memory0, a)
    } finally {
      leaveCall()
    }
  }
}

function ofThree(target: Target): Form {
  const { code, enter } = target
  const [slot0, slot1, slot2] = target.slots as [Slot, Slot, Slot]
  return function (value0, value1, value2) {
    check(target, arguments.length)
    const memory0 = operandOf(value0, code)
    const memory1 = operandOf(value1, code)
    const memory2 = operandOf(value2, code)
    const a = resolveIn(memory0, slot0, value0)
    const b = resolveIn(memory1, slot1, value1)
    const c = resolveIn(memory2, slot2, value2)
    const operands = [code, memory0, memory1, memory2]
    checkOperands(operands)
    enterCall(operands)
    try {
      begin(target)
      store(slot0, a)
      store(slot1, b)
      store(slot2, c)
      enter()
      return finish(target, memory0, a)
    } finally {
      leaveCall()
    }
  }
}

function ofFour(target: Target): Form {
  const { code, enter } = target
  const [slot0, slot1, slot2, slot3] = target.slots as [Slot, Slot, Slot, Slot]
  return function (value0, value1, value2, value3) {
    check(target, arguments.length)
    const memory0 = operandOf(value0, code)
    const memory1 = operandOf(value1, code)
    const memory2 = operandOf(value2, code)
    const memory3 = operandOf(value3, code)
    const a = resolveIn(memory0, slot0, value0)
    const b = resolveIn(memory1, slot1, value1)
    const c = resolveIn(memory2, slot2, value2)
    const d = resolveIn(memory3, slot3, value3)
    const operands = [code, memory0, memory1, memory2, memory3]
    checkOperands(operands)
    enterCall(operands)
    try {
      begin(target)
      store(slot0, a)
      store(slot1, b)
      store(slot2, c)
      store(slot3, d)
      enter()
      return finish(target, memory0, a)
    } finally {
      leaveCall()
    }
  }
}

/** The forms of calls with memory, by the number of arguments less one. */
export const memoryForms: readonly ((target: Target) => Form)[] = [ofOne, ofTwo, ofThree, ofFour]
