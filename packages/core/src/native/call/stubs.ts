import { AllocationError, ScopeClosedError } from '../../errors/kinds.ts'
import { CONSTANTS, LAYOUTS } from '../../generated/layouts.ts'
import { STATUS } from '../../generated/status.ts'
import { checkStatus, coreFunctions, lastError } from '../core-library.ts'
import { addressOf } from '../native-memory.ts'
import type { PlanSignature } from './call-plan.ts'
import { threadDriver } from './thread-driver.ts'
import { WORDS } from './frame-layout.ts'
import { TWO_32, words } from './frame.ts'
import { addFunction, removeFunction } from './functions.ts'
import { type Slot, store } from './store.ts'
import { nameStub } from '../../tracing/stub-names.ts'
import { NO_PLACE, stubForm } from './stub-forms.ts'
import { stubPlan } from './stub-plan.ts'
import type { StubFunction, StubPlace } from './stub-steps.ts'

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
  /** The result of calls that are refused, for scalars and addresses. The default is 0. */
  readonly refusedResult?: number | bigint | boolean
}

/** The address of a live stub. */
export class Stub {
  readonly address: number
  private readonly id: number

  /** @internal */
  constructor(address: number, id: number) {
    this.address = address
    this.id = id
  }

  /** Makes the stub dead for ever. Called once. */
  close(): void {
    coreFunctions().tn_stub_close(this.address)
    removeFunction(this.id)
  }
}

const { size: DESCRIPTION_SIZE, offsets: DESCRIPTION } = LAYOUTS.tn_stub_description_t

const THREADS: Readonly<Record<ForeignThread, number>> = {
  refuse: CONSTANTS.TN_THREADS_REFUSE,
  wait: CONSTANTS.TN_THREADS_WAIT,
  relay: CONSTANTS.TN_THREADS_RELAY,
}

const NO_TIMEOUT = 0xffff_ffff

/** The description of a stub, with the address of the stub behind it. Nothing of the user runs while it is written or read. */
interface Description {
  readonly words: Uint32Array
  readonly address: number
}

let description: Description | undefined

function newDescription(): Description {
  const memory = new Uint32Array(DESCRIPTION_SIZE / 4 + 2)
  return { words: memory, address: addressOf(memory) }
}

/** The words of a description. */
const FIELD = {
  function: DESCRIPTION.function / 4,
  stackSize: DESCRIPTION.stack_size / 4,
  resultSize: DESCRIPTION.result_size / 4,
  threads: DESCRIPTION.threads / 4,
  timeout: DESCRIPTION.timeout_ms / 4,
  isReusable: DESCRIPTION.is_reusable / 4,
  refused: DESCRIPTION.refused / 4,
  out: DESCRIPTION_SIZE / 4,
} as const

/** The options of a stub, of which undefined ones have their default. */
export type StubSettings = { readonly [Name in keyof StubOptions]: StubOptions[Name] | undefined }

/**
 * Makes a native function that runs a function of TypeScript.
 *
 * @param name names the result in messages.
 * @throws {AllocationError} if the process has no address left. @throws {ArgumentError} if the refused result is not valid.
 */
export function makeStub(
  signature: PlanSignature,
  run: StubFunction,
  options: StubSettings,
  name: string,
  place: StubPlace = NO_PLACE,
): Stub {
  const { foreignThread = 'relay', timeout = Infinity, unsafeReuse = false, refusedResult } = options
  threadDriver()
  const plan = stubPlan(signature, name)
  const { words: fields, address: at } = (description ??= newDescription())
  stageRefused(plan.result, refusedResult)
  fields[FIELD.refused] = words[STAGE]!
  fields[FIELD.refused + 1] = words[STAGE + 1]!
  const id = addFunction(stubForm(plan, run, place))
  fields[FIELD.function] = id
  fields[FIELD.stackSize] = plan.stackSize
  fields[FIELD.resultSize] = plan.resultSize
  fields[FIELD.threads] = THREADS[foreignThread]
  fields[FIELD.timeout] = timeout >= NO_TIMEOUT ? NO_TIMEOUT : timeout
  fields[FIELD.isReusable] = unsafeReuse ? 1 : 0
  const status = coreFunctions().tn_stub_create(at, at + DESCRIPTION_SIZE)
  if (status !== 0) throw refusedStub(id, status)
  const address = fields[FIELD.out]! + fields[FIELD.out + 1]! * TWO_32
  nameStub(address, run)
  return new Stub(address, id)
}

/** Frees the id of a stub that was not made. Returns the reason. */
function refusedStub(id: number, status: number): unknown {
  removeFunction(id)
  if (status === STATUS.CLOSED.value) return new ScopeClosedError('cannot make a stub: this thread is shutting down')
  if (status === STATUS.OUT_OF_MEMORY.value) {
    return new AllocationError(lastError(), {
      hint: 'Make one stub and use it often, or set unsafeReuse for stubs whose pointers native code forgets.',
    })
  }
  return checkStatus(status, 'making a stub')
}

/** Results are in the frame before the call, too. */
const STAGE = WORDS.generalResults

/** Stores the bits of a refused result into the stage, as the register of a result has them. @throws {ArgumentError} */
function stageRefused(result: Slot | undefined, value: StubOptions['refusedResult']): void {
  words[STAGE] = words[STAGE + 1] = 0
  if (value === undefined || result === undefined || result.kind === 'struct') return
  const slot = { ...result, word: STAGE, name: 'refusedResult' }
  // An address is a number here, because a segment could be closed before the call is refused.
  store(result.kind === 'pointer' ? { ...slot, kind: 'uint64', fast: undefined } : slot, value)
}
