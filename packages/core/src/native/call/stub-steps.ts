import type { Gate } from '../../memory/lifetime.ts'
import { coreFunctions } from '../core-library.ts'
import { addressOf } from '../native-memory.ts'
import type { ValueType } from '../value-type.ts'
import type { ParameterPlan } from './call-plan.ts'
import { WORDS } from './frame-layout.ts'
import { bytes, doubles, TWO_32, unsignedBigints, unsignedWords, words } from './frame.ts'
import { addressAt, type EnteredFunction } from './functions.ts'
import { load } from './load.ts'
import { stageStruct, type Words } from './struct-bytes.ts'
import type { Reader, StubPlan } from './stub-plan.ts'

/** An argument of a stub that is not a struct. An address is a number, or a bigint from 2^53 on. A text is copied. */
export type StubArgument = number | bigint | boolean | string | null | undefined

/** Makes the argument for a struct, whose bytes begin at a word. */
export type MakeStruct = (source: Words, word: number, byteSize: number, byteAlignment: number) => unknown

/** The makers of the arguments of a stub, and the memory that is in use while its function runs. */
export interface StubPlace {
  /** The lifetime of the stub, which cannot be closed while the function runs. */
  readonly gate: Gate
  /** Makes the argument for an address, which is a bigint from 2^53 on. */
  readonly pointer: (address: number | bigint) => unknown
  /** Calls `use` with a function that makes the arguments for structs. Their memory ends when `use` has returned. */
  readonly withStructs: (use: (structOf: MakeStruct) => void) => void
}

/** A function for native code. Its result is a scalar or memory, and is ignored if the stub returns nothing. */
export type StubFunction = (...values: never[]) => unknown

export type StubForm = (plan: StubPlan, run: (...values: unknown[]) => unknown, place: StubPlace) => EnteredFunction

/** The steps of a stub for each argument. */
export interface StubSteps {
  /** Returns the address in two words of the frame. */
  addressIn(word: number): number | bigint
  /** Returns any argument but a pointer or a struct. */
  read(reader: Reader): StubArgument
}

/** A function, for the reason that `makeSteps()` of the calls has. */
function makeSteps(): StubSteps {
  const [frameWords, frameUnsigned, frameBigints, frameDoubles] = [words, unsignedWords, unsignedBigints, doubles]
  const [twoTo32, mostSafe] = [TWO_32, Number.MAX_SAFE_INTEGER]
  return {
    addressIn: (word) => {
      const address = frameUnsigned[word]! + frameUnsigned[word + 1]! * twoTo32
      return address <= mostSafe ? address : frameBigints[word >> 1]!
    },
    read: ({ fast, word, plan }) => {
      if (fast === 'int32') return frameWords[word]
      if (fast === 'float64') return frameDoubles[word >> 1]
      return plan.byteSize === 8 ? load(plan.kind as ValueType, word) : loadNarrow(plan.kind as ValueType, plan)
    },
  }
}

export const stubSteps: StubSteps = makeSteps()

/** Copies a struct to a stage, from the frame or from where the caller of the stub has it, who guarantees that this is valid. */
export function stage({ plan, stageWord }: Reader, target: Words): void {
  const { kind, pieces, word, byteSize } = plan
  if (kind === 'struct') return stageStruct(pieces, byteSize, target, stageWord)
  coreFunctions().tn_memory_copy(addressOf(target.bytes) + stageWord * 4, addressAt(word), byteSize)
}

/** Results are in the frame before the call, too. */
const STAGE = WORDS.generalResults

/** Loads a scalar that does not have the words of a register alone. */
function loadNarrow(kind: ValueType, { byteOffset, byteSize }: ParameterPlan): StubArgument {
  bytes.copyWithin(STAGE * 4, byteOffset, byteOffset + byteSize)
  return load(kind, STAGE)
}
