import { stubForms } from '../../generated/stub-forms.ts'
import { globalGate } from '../../memory/global-lifetime.ts'
import { type EnteredFunction, keepThrown } from './functions.ts'
import { argumentSteps } from './store.ts'
import type { Reader, StubPlan } from './stub-plan.ts'
import {
  type MakeStruct,
  type StubArgument,
  type StubForm,
  type StubFunction,
  type StubPlace,
  stubSteps,
} from './stub-steps.ts'

/** The place of stubs that are not part of a lifetime: an address stays a number, and a struct is a copy of its bytes. */
export const NO_PLACE: StubPlace = {
  gate: globalGate,
  pointer: (address) => address,
  withStructs: (use) => use((bytes) => bytes),
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

const ofStructs: StubForm = ({ readers, result }, run, { gate, pointer, withStructs }) => {
  const argumentOf = ({ isPointer, byteAlignment }: Reader, value: StubArgument, structOf: MakeStruct): unknown => {
    if (isPointer) return pointer(value as number | bigint)
    return byteAlignment === undefined ? value : structOf(value as Uint8Array, byteAlignment)
  }
  const valueOf = (reader: Reader): StubArgument =>
    reader.isPointer ? stubSteps.addressIn(reader.word) : stubSteps.read(reader)
  return () => {
    const isOpen = gate.open
    if (isOpen) gate.calls++
    try {
      const values = readers.map(valueOf)
      withStructs((structOf) => {
        const list = readers.map((reader, i) => argumentOf(reader, values[i], structOf))
        argumentSteps.storeResult(result, run(...list))
      })
    } catch (error) {
      if (isOpen) gate.calls--
      keepThrown(error)
    }
    if (isOpen) gate.calls--
  }
}
