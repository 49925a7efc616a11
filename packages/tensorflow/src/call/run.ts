import { cpu, gcAllocator, Tensor, type NativeAllocator } from '@tenon/core'
import {
  addressOf,
  callNamed,
  CONSTANTS,
  callsInProgress,
  enterCall,
  makeStrings,
  newCollected,
  profiling,
  takeThrown,
  TENSOR_ALIGNMENT,
  threadDriver,
  WORDS,
  words,
  type Gated,
} from '@tenon/core/internal'
import { STRING } from '../element-types.ts'
import { TensorFlowError } from '../errors/tensorflow-error.ts'
import { openHost, type Host } from '../native/host.ts'
import { takeFailure } from '../native/read-failure.ts'
import type { Frame } from './frame.ts'
import { keepMemory } from './kept-memory.ts'
import type { Operand } from './operand.ts'
import { allocate, overOperand, resultType } from './results.ts'

const { TN_CALL_THROWN: THROWN, TN_CALL_CAUGHT: CAUGHT, TN_TF_IN_PLACE: IN_PLACE, TN_TF_OPERAND: OPERAND } = CONSTANTS

/** The place of the entry among those of the driver. */
const ENTRY = 4

/** A run of a call, all arguments of which were read and checked. */
export interface Run {
  readonly frame: Frame
  readonly operands: readonly Operand[]
  /** The tensors of the caller for results. */
  readonly into: readonly (Tensor | undefined)[]
  readonly allocator: NativeAllocator
  /** What is held open during the run: the library, the operands, and the tensors of the caller. */
  readonly held: readonly Gated[]
}

/** Runs that are ready, with the memory that was offered for their results. */
export type Offers = readonly (Tensor | undefined)[]

/** Writes the addresses of a run into its frame, and offers memory for results. */
export function offer({ frame, operands, into, allocator }: Run): Offers {
  for (const [i, { tensor, key, isDonated }] of operands.entries())
    frame.setOperand(i, tensor.lo, tensor.hi, key.isString ? tensor.type.byteSize : undefined, isDonated)
  return into.map((target, i) => {
    const type = target?.type ?? (allocator === gcAllocator ? frame.predicted[i] : undefined)
    if (type === undefined) return void frame.offer(i, undefined, 0, 0, false)
    const tensor = target ?? new Tensor(newCollected(type.byteSize, TENSOR_ALIGNMENT), type, cpu)
    frame.offer(i, type, tensor.lo, tensor.hi, target !== undefined)
    return tensor
  })
}

/** Makes the function that runs frames. The compiler knows what it calls. */
function makeEnter(): (lo: number, hi: number, name: string) => number {
  const enter = threadDriver().entry(ENTRY, openHost().run)
  const thread = words
  const { general, errno, state } = WORDS
  const PROFILED = profiling
  return (lo, hi, name) => {
    // Every call overwrites the frame of the thread, so nothing may run between these stores and the loads.
    thread[general] = lo
    thread[general + 1] = hi
    if (PROFILED) callNamed(name, enter)
    else enter()
    how = thread[state]!
    return thread[errno]!
  }
}

/** How the last run has left native code. */
let how = 0
let entered: ReturnType<typeof makeEnter> | undefined

/** Runs a frame on this thread. @param held what is held open during the run. @returns as {@link runFrame} */
export function enterFrame(frame: Frame, held: readonly Gated[]): boolean {
  let place = -1
  try {
    place = enterCall(held)
    return runFrame(frame)
  } finally {
    // Without a function, because the stack of JavaScript may be full.
    if (place !== -1) {
      callsInProgress.depth = place
      callsInProgress.lists[place] = undefined
    }
  }
}

/**
 * Runs a frame whose memory is held open.
 *
 * @returns whether all results are in place, and nothing is left to do. Otherwise {@link finish} does it.
 */
export function runFrame(frame: Frame): boolean {
  const run = (entered ??= makeEnter())
  const { instance } = frame
  let status: number
  try {
    frame.running = true
    instance.enter()
    status = run(frame.lo, frame.hi, instance.facts.operation)
  } finally {
    frame.running = false
  }
  if (how !== 0) endThrown(frame, status)
  if (status !== 0 || frame.left !== 0) return false
  instance.leave()
  return true
}

/** Ends a run during which a function of TypeScript or the kernel threw. @throws what the function threw */
function endThrown(frame: Frame, status: number): void {
  const host = openHost()
  const left = how
  if (left !== THROWN) host.entered.tn_tf_end_exception(frame.address, status >>> 0)
  if (left === CAUGHT) return
  const thrown = takeThrown()
  drop(host, frame)
  frame.instance.leave()
  throw thrown
}

/** Frees the results and the failure of a run. */
function drop(host: Host, frame: Frame): void {
  const { failure } = frame
  if (failure !== 0) takeFailure(host, failure, '', '')
  frame.resultPlaces.forEach((_, i) => frame.setTarget(i, 0))
  host.entered.tn_tf_take(frame.address)
}

/**
 * Ends a run that has left something: its failure, results that native code has, or memory that the kernel keeps.
 *
 * @returns the results. @throws {TensorFlowError} if the kernel failed
 */
export function finish(run: Run, offers: Offers): unknown[] {
  const { frame } = run
  const { operation, path } = frame.instance.facts
  const host = openHost()
  try {
    if (frame.failure !== 0) throw takeFailure(host, frame.failure, operation, path)
    return takeResults(host, run, offers)
  } finally {
    keepLeft(run, offers)
    frame.instance.leave()
  }
}

/** Returns the results, and copies those that native code has. */
function takeResults(host: Host, run: Run, offers: Offers): unknown[] {
  const { frame } = run
  let results: unknown[]
  try {
    results = frame.instance.facts.results.map((_, i) => resultAt(host, run, offers, i))
  } catch (error) {
    drop(host, frame)
    throw error
  }
  if (host.entered.tn_tf_take(frame.address) !== 0) {
    const { operation, path } = frame.instance.facts
    throw new TensorFlowError({ code: 13, text: 'strings of a result changed', operation, path, payloads: {} })
  }
  return results.map((result) => (typeof result === 'function' ? (result as () => unknown)() : result))
}

const axes = new BigInt64Array(CONSTANTS.TN_TF_MOST_AXES)
let axesAddress: number | undefined

const addressOfAxes = (): number => (axesAddress ??= addressOf(axes))

/** Returns a result, or a function that makes it after native code has copied the strings. */
function resultAt(host: Host, run: Run, offers: Offers, index: number): unknown {
  const { frame, operands, into, allocator } = run
  const state = frame.stateOf(index)
  if (state === IN_PLACE) return offers[index]
  const rank = host.functions.tn_tf_shape(frame.address, index, addressOfAxes())
  const shape = Array.from(axes.subarray(0, rank as number), Number)
  const element = frame.instance.facts.results[index]!
  if (element === STRING) {
    const segment = allocate(frame.neededOf(index), allocator)
    frame.setTarget(index, segment.block.address + segment.base)
    return () => makeStrings({ layout: 'tf', shape, segment }, false)
  }
  const type = resultType(element, shape)
  frame.predicted[index] = state === OPERAND ? undefined : type
  if (state === OPERAND) return overOperand(operands[frame.operandOf(index)]!, type)
  const tensor = into[index] ?? new Tensor(allocate(type.byteSize, allocator), type, cpu)
  frame.setTarget(index, tensor.address)
  return tensor
}

/** Keeps memory open to which the kernel still refers. */
function keepLeft({ frame, operands, held }: Run, offers: Offers): void {
  if (frame.left === 0) return
  // No later run may use the frame, to which the kernel refers, too.
  frame.isKept = true
  operands.forEach(({ tensor }, i) => {
    const memory = frame.keptOperand(i)
    if (memory !== 0) keepMemory(memory, tensor, [frame, held])
  })
  offers.forEach((tensor, i) => {
    const memory = frame.keptResult(i)
    if (memory !== 0 && tensor !== undefined) keepMemory(memory, tensor, [frame, tensor.block])
  })
}
