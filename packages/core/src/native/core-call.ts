import { LAYOUTS } from '../generated/layouts.ts'
import { alignUp, WORDS } from './call/frame-layout.ts'
import { PER_TWO_32, TWO_32 } from './call/frame.ts'
import { hostAbi } from './call/host-abi.ts'
import { planCall } from './call/plan.ts'
import type { DriverBase } from './driver/driver-base.ts'

/** The types of the core's functions, which take and return integers. Pointers are passed as addresses. */
export type CType =
  | 'void'
  | 'int8_t'
  | 'int32_t'
  | 'uint32_t'
  | 'int64_t'
  | 'uint64_t'
  | 'size_t'
  | 'void *'
  | 'const char *'

/** The types of results. */
export type CResult = Exclude<CType, 'int8_t'>

/** A function of the core. A result above 2^53 is a bigint. */
export type CoreFunction = (...values: readonly (number | bigint)[]) => number | bigint | undefined

/** Returns a function that calls an address. */
export type BindCore = (address: number, result: CResult) => CoreFunction

/** The largest number of parameters of the core's functions. */
export const MAXIMUM_CORE_PARAMETERS = 7

/** The stack area of a frame is after all registers, and has room for all parameters. */
const FRAME_SIZE = LAYOUTS.tn_call_frame_t.offsets.stack + 8 * MAXIMUM_CORE_PARAMETERS

/**
 * Returns the binder of the core's functions. Their frame is not that of the users' functions, so they can be called at any time,
 * also while that frame is being written or read. All of their parameters are integers, so one plan serves all of them.
 *
 * They are for functions that run only code of the core. Others go through `functionAt`, which has a larger stack, and throws
 * what callbacks have thrown.
 */
export function coreBinder(driver: DriverBase): BindCore {
  const frame = new ArrayBuffer(alignUp(FRAME_SIZE, 16))
  const [words, unsigned, bigints] = [new Int32Array(frame), new Uint32Array(frame), new BigInt64Array(frame)]
  const { target: TARGET, stackSize: STACK_SIZE, generalResults: RESULT } = WORDS
  const [twoTo32, perTwo32] = [TWO_32, PER_TWO_32]
  const parameters = new Array<'int64'>(MAXIMUM_CORE_PARAMETERS).fill('int64')
  const plan = planCall(hostAbi(), { result: 'void', parameters })
  const [A = 0, B = 0, C = 0, D = 0, E = 0, F = 0, G = 0] = plan.parameters.map(({ word }) => word)
  const perform = driver.caller(frame)
  words[STACK_SIZE] = plan.stackSize

  const store = (word: number, value: number | bigint): void => {
    if (typeof value === 'number') {
      words[word] = value
      words[word + 1] = Math.floor(value * perTwo32)
    } else {
      bigints[word / 2] = value
    }
  }
  const load = (result: CResult): number | bigint | undefined => {
    if (result === 'int32_t') return words[RESULT]
    if (result === 'void') return undefined
    if (result === 'uint32_t') return unsigned[RESULT]
    const high = result === 'int64_t' ? words[RESULT + 1]! : unsigned[RESULT + 1]!
    const value = high * twoTo32 + unsigned[RESULT]!
    if (Number.isSafeInteger(value)) return value
    return result === 'int64_t' ? bigints[RESULT / 2] : BigInt.asUintN(64, bigints[RESULT / 2]!)
  }

  return (address, result) => {
    const [low, high] = [address | 0, (address / twoTo32) | 0]
    // Not rest parameters and a loop, which would take a third longer.
    return (a, b, c, d, e, f, g) => {
      words[TARGET] = low
      words[TARGET + 1] = high
      if (a !== undefined) store(A, a)
      if (b !== undefined) store(B, b)
      if (c !== undefined) store(C, c)
      if (d !== undefined) store(D, d)
      if (e !== undefined) store(E, e)
      if (f !== undefined) store(F, f)
      if (g !== undefined) store(G, g)
      perform()
      return load(result)
    }
  }
}
