import { enterCall, leaveCall } from '../../memory/call-stack.ts'
import { begin, check, finish, type Form, type Target } from './call-steps.ts'
import { type Slot, storeScalar } from './store.ts'

function ofNone(target: Target): Form {
  const { code, enter } = target
  const operands = Object.freeze([code])
  return function () {
    check(target, arguments.length)
    enterCall(operands)
    try {
      begin(target)
      enter()
      return finish(target, code, undefined)
    } finally {
      leaveCall()
    }
  }
}

function ofOne(target: Target): Form {
  const { code, enter } = target
  const operands = Object.freeze([code])
  const [slot] = target.slots as [Slot]
  return function (value) {
    check(target, arguments.length)
    enterCall(operands)
    try {
      begin(target)
      storeScalar(slot, value)
      enter()
      return finish(target, code, undefined)
    } finally {
      leaveCall()
    }
  }
}

function ofTwo(target: Target): Form {
  const { code, enter } = target
  const operands = Object.freeze([code])
  const [slot0, slot1] = target.slots as [Slot, Slot]
  return function (value0, value1) {
    check(target, arguments.length)
    enterCall(operands)
    try {
      begin(target)
      storeScalar(slot0, value0)
      storeScalar(slot1, value1)
      enter()
      return finish(target, code, undefined)
    } finally {
      leaveCall()
    }
  }
}

function ofThree(target: Target): Form {
  const { code, enter } = target
  const operands = Object.freeze([code])
  const [slot0, slot1, slot2] = target.slots as [Slot, Slot, Slot]
  return function (value0, value1, value2) {
    check(target, arguments.length)
    enterCall(operands)
    try {
      begin(target)
      storeScalar(slot0, value0)
      storeScalar(slot1, value1)
      storeScalar(slot2, value2)
      enter()
      return finish(target, code, undefined)
    } finally {
      leaveCall()
    }
  }
}

function ofFour(target: Target): Form {
  const { code, enter } = target
  const operands = Object.freeze([code])
  const [slot0, slot1, slot2, slot3] = target.slots as [Slot, Slot, Slot, Slot]
  return function (value0, value1, value2, value3) {
    check(target, arguments.length)
    enterCall(operands)
    try {
      begin(target)
      storeScalar(slot0, value0)
      storeScalar(slot1, value1)
      storeScalar(slot2, value2)
      storeScalar(slot3, value3)
      enter()
      return finish(target, code, undefined)
    } finally {
      leaveCall()
    }
  }
}

/** The forms of calls without memory, by the number of arguments. */
export const plainForms: readonly ((target: Target) => Form)[] = [ofNone, ofOne, ofTwo, ofThree, ofFour]
