import { stubForms } from '../../generated/stub-forms.ts'
import { globalGate } from '../../memory/global-lifetime.ts'
import { type EnteredFunction, keepThrown } from './functions.ts'
import { argumentSteps } from './store.ts'
import type { Reader, StubPlan } from './stub-plan.ts'
import { newWords, type Words } from './struct-bytes.ts'
import { stage, type StubForm, type StubFunction, type StubPlace, stubSteps } from './stub-steps.ts'

/** The place of stubs that are not part of a lifetime: an address stays a number, and a struct is a copy of its bytes. */
export const NO_PLACE: StubPlace = {
  gate: globalGate,
  pointer: (address) => address,
  withStructs: (use) => use(({ bytes }, word, byteSize) => bytes.slice(word * 4, word * 4 + byteSize)),
}

/**
 * Returns the function that native code enters. All arguments are read before the function can make calls, which use the frame too. The
 * generated forms serve most stubs: each has the type feedback of its own arguments, and no loop.
 */
export function stubForm(plan: StubPlan, run: StubFunction, place: StubPlace): EnteredFunction {
  const { order } = plan
  const form = order.includes('-') ? ofStructs : (stubForms[order] ?? ofMany)
  return form(plan, run as (...values: unknown[]) => unknown, place)
}

const ofMany: StubForm = ({ readers, result }, run, { gate, pointer }) => {
  const argumentOf = (reader: Reader): unknown =>
    reader.isPointer ? pointer(stubSteps.addressIn(reader.word)) : stubSteps.read(reader)
  return () => {
    const isOpen = gate.open
    if (isOpen) gate.calls++
    try {
      argumentSteps.storeResult(result, run(...readers.map(argumentOf)))
    } catch (error) {
      if (isOpen) gate.calls--
      keepThrown(error)
    }
    if (isOpen) gate.calls--
  }
}

/** Structs wait in memory of the stub until the function gets them, because making memory for them can run code, which can use the frame. */
const ofStructs: StubForm = ({ readers, result, stageSize }, run, { gate, pointer, withStructs }) => {
  const count = readers.length
  /** The stage, unless a call is using it. */
  let free: Words | undefined
  return () => {
    const isOpen = gate.open
    if (isOpen) gate.calls++
    try {
      const words = free ?? newWords(stageSize)
      free = undefined
      const values: unknown[] = []
      for (let i = 0; i < count; i++) {
        const reader = readers[i]!
        if (reader.byteAlignment !== undefined) values.push(stage(reader, words))
        else values.push(reader.isPointer ? stubSteps.addressIn(reader.word) : stubSteps.read(reader))
      }
      withStructs((structOf) => {
        for (let i = 0; i < count; i++) {
          const { isPointer, byteAlignment, plan, stageWord } = readers[i]!
          if (isPointer) values[i] = pointer(values[i] as number | bigint)
          else if (byteAlignment !== undefined) values[i] = structOf(words, stageWord, plan.byteSize, byteAlignment)
        }
        free = words
        argumentSteps.storeResult(result, run(...values))
      })
    } catch (error) {
      if (isOpen) gate.calls--
      keepThrown(error)
    }
    if (isOpen) gate.calls--
  }
}
