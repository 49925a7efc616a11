import { AllocationError, ScopeClosedError } from '../../errors/kinds.ts'
import { CONSTANTS, LAYOUTS } from '../../generated/layouts.ts'
import { STATUS } from '../../generated/status.ts'
import { checkStatus, coreFunctions, lastError } from '../core-library.ts'
import type { Value } from '../argument-conversion.ts'
import { addressOf, keepAlive } from '../native-memory.ts'
import type { ValueType } from '../value-type.ts'
import type { CallPlan, ParameterPlan, PlanSignature, ResultPlan } from './call-plan.ts'
import { door } from './door.ts'
import { WORDS } from './frame-layout.ts'
import { bytes, doubles, TWO_32, unsignedWords, words } from './frame.ts'
import { addFunction, addressAt, type EnteredFunction, keepThrown, removeFunction } from './functions.ts'
import { load, loadStruct } from './load.ts'
import { planCall } from './plan.ts'
import { argumentSteps, fastKind, type Resolved, resolveResult, type Slot, store } from './store.ts'

/** What happens when a thread that does not run the function's JavaScript calls a stub. */
export type ForeignThread = 'refuse' | 'wait' | 'relay'

/** Options for stubs. */
export interface StubOptions {
  /**
   * What happens when another thread calls. `relay` (the default): the caller waits until the event loop of the function's
   * thread runs the function, but is refused once that thread has been in one native call for 0.1 s, because that call may be
   * waiting for the caller. `wait`: it waits in any case, so a native call that waits for such a caller never returns, unless
   * there is a `timeout`. `refuse`: it is refused at once.
   */
  readonly foreignThread?: ForeignThread
  /** How long another thread waits for the function to begin, in milliseconds. The default is Infinity. */
  readonly timeout?: number
  /**
   * Allows the address to serve another stub after this one is closed. Set it if native code forgets the pointer before then;
   * otherwise a late call would run the function of the other stub. The default is false.
   */
  readonly unsafeReuse?: boolean
  /** The result of calls that are refused, for scalars. The default is 0. */
  readonly refusedResult?: number | bigint | boolean
}

/** An argument of a stub: a struct is a copy of its bytes, and an address is a number. */
export type StubArgument = number | bigint | boolean | Uint8Array | undefined

export type StubFunction = (...values: StubArgument[]) => Resolved

/** Turns the result of a function into what is stored, while the memory of the result is open. @throws {ArgumentError} */
export type Complete = (value: Value) => Resolved

export interface Stub {
  readonly address: number
  /** Makes the stub dead for ever. Called once. */
  close(): void
}

const { size: DESCRIPTION_SIZE, offsets: DESCRIPTION } = LAYOUTS.tn_stub_description_t

const THREADS: Readonly<Record<ForeignThread, number>> = {
  refuse: CONSTANTS.TN_THREADS_REFUSE,
  wait: CONSTANTS.TN_THREADS_WAIT,
  relay: CONSTANTS.TN_THREADS_RELAY,
}

const NO_TIMEOUT = 0xffff_ffff

/**
 * Makes a native function that runs a function of TypeScript.
 *
 * @param makeRun returns the function, which receives scalars, addresses as numbers, and structs as copies of their bytes. It
 * passes its result, which is a scalar or the segment of a struct, to `complete`, and returns what `complete` returns.
 * @param name names the result in messages.
 * @throws {AllocationError} if the process has no address left. @throws {ArgumentError} if the refused result is not valid.
 */
export function makeStub(
  signature: PlanSignature,
  makeRun: (complete: Complete) => StubFunction,
  options: StubOptions,
  name: string,
): Stub {
  const { foreignThread = 'relay', timeout = Infinity, unsafeReuse = false, refusedResult } = options
  const plan = planCall(door().abi, signature)
  const result = resultSlot(plan.result, plan, name)
  const run = makeRun((value) => (result === undefined ? undefined : resolveResult(result, value)))
  const refused = bitsOf(result, refusedResult)
  const id = addFunction(entered(plan.parameters, run, result))
  const description = new DataView(new ArrayBuffer(DESCRIPTION_SIZE))
  const set = (at: number, value: number): void => description.setUint32(at, value, true)
  set(DESCRIPTION.function, id)
  set(DESCRIPTION.stack_size, plan.stackSize)
  set(DESCRIPTION.result_size, plan.result.kind === 'memory' ? plan.result.byteSize : 0)
  set(DESCRIPTION.threads, THREADS[foreignThread])
  set(DESCRIPTION.timeout_ms, timeout >= NO_TIMEOUT ? NO_TIMEOUT : timeout)
  set(DESCRIPTION.is_reusable, unsafeReuse ? 1 : 0)
  description.setBigUint64(DESCRIPTION.refused, refused, true)
  const out = new BigUint64Array(1)
  const status = coreFunctions().tn_stub_create(addressOf(description), addressOf(out))
  keepAlive(description)
  if (status !== 0) removeFunction(id)
  if (status === STATUS.CLOSED.value) throw new ScopeClosedError('cannot make a stub: this thread is shutting down')
  if (status === STATUS.OUT_OF_MEMORY.value) {
    throw new AllocationError(lastError(), {
      hint: 'Make one stub and use it often, or set unsafeReuse for stubs whose pointers native code forgets.',
    })
  }
  checkStatus(status, 'making a stub')
  const address = Number(out[0])
  return {
    address,
    close(): void {
      coreFunctions().tn_stub_close(address)
      removeFunction(id)
    },
  }
}

/** An argument, as calls of a stub read it. */
interface Reader {
  /** For the frequent kinds, whose code the compiler inlines into every call. */
  readonly fast: 'int32' | 'float64' | 'pointer' | undefined
  readonly word: number
  readonly plan: ParameterPlan
}

function readerOf(plan: ParameterPlan): Reader {
  const { kind, word, byteSize } = plan
  const isFast = byteSize === 8 && (kind === 'int32' || kind === 'float64' || kind === 'pointer')
  return { fast: isFast ? kind : undefined, word, plan }
}

type MakeEntered = (
  parameters: readonly ParameterPlan[],
  run: StubFunction,
  result: Slot | undefined,
) => EnteredFunction

/** A function, for the reason that `makeSteps()` of the calls has. */
function makeEntered(): MakeEntered {
  const [frameWords, frameUnsigned, frameDoubles, twoTo32] = [words, unsignedWords, doubles, TWO_32]
  const { store: storeResult } = argumentSteps

  const read = ({ fast, word, plan }: Reader): StubArgument => {
    if (fast === 'int32') return frameWords[word]
    if (fast === 'pointer') return frameUnsigned[word]! + frameUnsigned[word + 1]! * twoTo32
    if (fast === 'float64') return frameDoubles[word >> 1]
    return argumentAt(plan)
  }

  return (parameters, run, result) => {
    const readers = parameters.map(readerOf)
    const [first, second] = readers as [Reader, Reader]
    switch (readers.length) {
      case 1:
        return () => {
          try {
            const value = run(read(first))
            if (result !== undefined) storeResult(result, value)
          } catch (error) {
            keepThrown(error)
          }
        }
      case 2:
        return () => {
          try {
            const value = run(read(first), read(second))
            if (result !== undefined) storeResult(result, value)
          } catch (error) {
            keepThrown(error)
          }
        }
      default:
        return () => {
          try {
            const value = run(...readers.map(read))
            if (result !== undefined) storeResult(result, value)
          } catch (error) {
            keepThrown(error)
          }
        }
    }
  }
}

/** Returns the function that native code enters. All arguments are read before `run` can make calls, which use the frame too. */
const entered: MakeEntered = makeEntered()

/** Results are in the frame before the call, too. */
const STAGE = WORDS.generalResults

function argumentAt(plan: ParameterPlan): StubArgument {
  const { kind, word, byteSize } = plan
  if (kind === 'pointer') return addressAt(word)
  if (kind === 'struct') return loadStruct(plan.pieces, byteSize)
  if (kind === 'indirect') return copyOf(addressAt(word), byteSize)
  return byteSize === 8 ? load(kind, word) : loadNarrow(kind, plan)
}

/** Loads a scalar that does not have the words of a register alone. */
function loadNarrow(kind: ValueType, { byteOffset, byteSize }: ParameterPlan): StubArgument {
  bytes.copyWithin(STAGE * 4, byteOffset, byteOffset + byteSize)
  return load(kind, STAGE)
}

/** Copies native memory, which the caller of the stub guarantees to be valid. */
function copyOf(address: number, byteSize: number): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(byteSize)
  coreFunctions().tn_memory_copy(addressOf(copy), address, byteSize)
  return copy
}

/** Where the result of a function is stored. A struct in memory is copied from the stack area to its place. */
function resultSlot({ kind, word, byteSize, pieces }: ResultPlan, call: CallPlan, name: string): Slot | undefined {
  if (kind === 'void') return undefined
  if (kind !== 'struct' && kind !== 'memory')
    return { kind, fast: fastKind(kind), word, name, byteSize: 8, plan: undefined, call }
  const all = kind === 'struct' ? pieces : [{ word: WORDS.stack, offset: 0, byteSize }]
  const plan = { kind: 'struct', word, byteOffset: 0, byteSize, second: -1, pieces: all, copy: null } as const
  return { kind: 'struct', word, name, byteSize, plan, call }
}

/** The bits of a refused result, as the register of a result has them. @throws {ArgumentError} if it is not valid */
function bitsOf(result: Slot | undefined, value: StubOptions['refusedResult']): bigint {
  if (value === undefined || result === undefined || result.kind === 'struct') return 0n
  const bits = { ...result, word: STAGE, name: 'refusedResult' }
  store(bits, value)
  return new BigUint64Array(bytes.buffer)[STAGE / 2]!
}
