import { callSteps, type Form, type Target } from './call-steps.ts'
import { argumentSteps, type Slot } from './store.ts'

interface PlainForms {
  /** By the number of arguments. */
  readonly forms: readonly ((target: Target) => Form)[]
  ofMany(target: Target): Form
}

/** A function, for the reason that `makeSteps()` has. */
function makeForms(): PlainForms {
  const { check, begin, perform, finish } = callSteps
  const { storeScalar } = argumentSteps

  function ofNone(target: Target): Form {
    const { code } = target
    return function () {
      check(target, arguments.length)
      begin(target)
      perform(target)
      return finish(target, code, undefined)
    }
  }

  function ofOne(target: Target): Form {
    const { code } = target
    const [slot] = target.slots as [Slot]
    return function (value) {
      check(target, arguments.length)
      begin(target)
      storeScalar(slot, value)
      perform(target)
      return finish(target, code, undefined)
    }
  }

  function ofTwo(target: Target): Form {
    const { code } = target
    const [slot0, slot1] = target.slots as [Slot, Slot]
    return function (value0, value1) {
      check(target, arguments.length)
      begin(target)
      storeScalar(slot0, value0)
      storeScalar(slot1, value1)
      perform(target)
      return finish(target, code, undefined)
    }
  }

  function ofThree(target: Target): Form {
    const { code } = target
    const [slot0, slot1, slot2] = target.slots as [Slot, Slot, Slot]
    return function (value0, value1, value2) {
      check(target, arguments.length)
      begin(target)
      storeScalar(slot0, value0)
      storeScalar(slot1, value1)
      storeScalar(slot2, value2)
      perform(target)
      return finish(target, code, undefined)
    }
  }

  function ofFour(target: Target): Form {
    const { code } = target
    const [slot0, slot1, slot2, slot3] = target.slots as [Slot, Slot, Slot, Slot]
    return function (value0, value1, value2, value3) {
      check(target, arguments.length)
      begin(target)
      storeScalar(slot0, value0)
      storeScalar(slot1, value1)
      storeScalar(slot2, value2)
      storeScalar(slot3, value3)
      perform(target)
      return finish(target, code, undefined)
    }
  }

  // The array of the values does not exist in compiled code, because nothing else gets it.
  function ofMany(target: Target): Form {
    const { code, slots, count } = target
    return (...values) => {
      check(target, values.length)
      begin(target)
      for (let i = 0; i < count; i++) storeScalar(slots[i]!, values[i])
      perform(target)
      return finish(target, code, undefined)
    }
  }

  return { forms: [ofNone, ofOne, ofTwo, ofThree, ofFour], ofMany }
}

const { forms, ofMany } = makeForms()

/** Returns the form of calls without memory. */
export const plainFormOf = (target: Target): Form => (forms[target.count] ?? ofMany)(target)
