import { TensorType, type NativeAllocator, type Tensor } from '@tenon/core'
import { checkOptions, wrongType, type Gated } from '@tenon/core/internal'
import { ASYNC_OPTIONS, type RunAsyncOptions } from '../async/run-later.ts'
import { CallAttributes, opaqueReader } from '../attributes/call-attributes.ts'
import type { AttributeDictionary } from '../attributes/encode-attributes.ts'
import { allocateResult } from './allocate-result.ts'
import type { Tensors } from './call-target.ts'
import type { Begun } from './kernel-batch.ts'
import { makeKeptFrames, type FrameCall, type FrameLimits, type InPlaceRuns, type RunFrame } from './kept-frames.ts'
import type { RemoteCallee, RemoteRun } from './remote-callee.ts'
import { copyTensors, FIRST_TENSOR, isTensor, makeList, MAKE_TENSORS, MOST_TENSORS, refuseTensor } from './taken.ts'

/** A result of a call: a tensor that the kernel writes to, or a type, for which the call allocates a tensor. */
export type ResultSpec = Tensor | TensorType

/** The return value of a call: a single result, or an array of all results. */
export type CallResults<Results extends readonly ResultSpec[]> = number extends Results['length']
  ? Tensor | readonly Tensor[]
  : Results extends readonly [ResultSpec]
    ? Tensor
    : { readonly [Index in keyof Results]: Tensor }

/** The results of a call. */
export interface ResultOptions<Results extends readonly ResultSpec[]> {
  readonly results: Results
  /** The allocator for results that are specified as types. By default, the garbage collector frees their memory. */
  readonly allocator?: NativeAllocator
  /** The alignment of all tensors in bytes; by default the size of their elements. */
  readonly alignment?: number
}

/** The options of an untyped call as a function. */
export interface HostCallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  /** Arbitrary bytes for the function, in addition to its buffers. Only STATUS_RETURNING_UNIFIED passes these bytes. */
  readonly opaque?: string | Uint8Array
}

/** The options of a typed call as a function. */
export interface CallOptions<Results extends readonly ResultSpec[]> extends ResultOptions<Results> {
  readonly attrs?: AttributeDictionary
}

export interface CallForms<Call extends FrameCall = FrameCall> {
  call(operands: Tensors, options: CallOptions<readonly ResultSpec[]>): unknown
  async(operands: Tensors, options: CallOptions<readonly ResultSpec[]> & RunAsyncOptions): Promise<unknown>
  /** Takes the arguments of a call of a batch, and prepares the call. */
  begin(operands: Tensors, options: CallOptions<readonly ResultSpec[]>): Begun<Call>
}

type AnyOptions = CallOptions<readonly ResultSpec[]> & HostCallOptions<readonly ResultSpec[]> & RunAsyncOptions

const NO_OPTIONS = Object.freeze({}) as AnyOptions

const NO_NAMES: readonly string[] = Object.freeze([])

/** The tensors of a call, behind places for the call and its library. */
interface TakenCall {
  readonly taken: readonly Gated[]
  readonly operandCount: number
}

/** How a function makes its calls. */
export interface CallMaker<Call extends FrameCall> {
  /** The option that a call is prepared with besides its tensors. */
  readonly extra: 'attrs' | 'opaque'
  readonly frames: FrameLimits
  prepare(options: never): Call
  readonly run: RunFrame<Call>
  /** For calls that run in this process. */
  readonly inPlace?: InPlaceRuns<Call>
  /** Runs a call on another thread, and closes it unless it is shared. The results are behind the operands. */
  runAsync(call: Call, tensors: Tensors, options: RunAsyncOptions): Promise<void>
  /** For calls that run in another process. */
  readonly remote?: RemoteCallee<Call>
}

/** Makes functions that prepare a call and run it. The synchronous one keeps the frames of calls for later calls that are alike. */
export function callFunction<Call extends FrameCall>({
  extra,
  frames: limits,
  prepare,
  run,
  inPlace,
  runAsync,
  remote,
}: CallMaker<Call>): CallForms<Call> {
  const further = remote?.options ?? NO_NAMES
  const ownAllocator = remote?.allocator
  const known = ['results', extra, 'allocator', 'alignment', ...further] as (keyof AnyOptions)[]
  const knownAsync = [...new Set([...known, ...ASYNC_OPTIONS])]
  const hasAttributes = extra === 'attrs'
  const reader = hasAttributes ? new CallAttributes() : opaqueReader
  const frames = makeKeptFrames(limits, run)
  const first = FIRST_TENSOR
  /** Whether the last call was given its results, as the next one probably is. */
  let hadResults = true

  const open = (
    taken: readonly Gated[],
    operandCount: number,
    alignment: number | undefined,
    attributes: readonly unknown[],
  ): Call =>
    prepare({
      operands: taken.slice(first, first + operandCount),
      results: taken.slice(first + operandCount),
      alignment,
      [extra]: reader.write(attributes),
    } as never)

  const call = (tensors: Tensors, options: AnyOptions): unknown => {
    for (const name in options) {
      if (name !== 'results' && name !== extra && name !== 'allocator' && name !== 'alignment') {
        checkOptions(options, known)
      }
    }
    const given = remote === undefined ? (options ?? NO_OPTIONS) : { ...options }
    const { results, allocator = ownAllocator, alignment } = given
    const attributes = reader.read(hasAttributes ? given.attrs : given.opaque)
    const operandCount = countOf(tensors, refuseOperands)
    const resultCount = countOf(results, refuseResults)
    const canGuess = inPlace !== undefined && alignment === undefined
    const guessed = canGuess ? frames.guess(operandCount + resultCount, operandCount, attributes) : undefined
    let taken: Gated[]
    if (guessed === undefined) {
      taken = makeList(operandCount + resultCount)
      copyTensors(taken, tensors, operandCount, results, resultCount)
      hadResults = completeTensors(taken, operandCount, allocator, alignment)
    } else {
      try {
        const list = inPlace!.tensorsOf(guessed.call)
        copyTensors(list, tensors, operandCount, results, resultCount)
        // The run checks tensors that were given.
        if (!hadResults) hadResults = completeTensors(list, operandCount, allocator, undefined)
        const value = valueOf(list, operandCount)
        if (inPlace!.tryRun(guessed.call)) return value
        taken = list.slice()
        inPlace!.leave(guessed.call)
      } catch (error) {
        // First, because leave() throws too if the stack is full.
        guessed.memory.running = false
        inPlace!.leave(guessed.call)
        throw error
      }
      frames.miss()
      // Results that were made above are tensors now.
      if (!completeTensors(taken, operandCount, allocator, undefined)) hadResults = false
    }
    const frame = frames.find(taken, operandCount, alignment, undefined, attributes)
    if (frame === undefined) {
      const prepared = open(taken, operandCount, alignment, attributes)
      const { types } = prepared.shape
      frames.runNew(prepared, { types, operandCount, alignment, layouts: undefined, attributes }, taken, given)
    } else {
      try {
        run(frame.call, taken, given)
      } catch (error) {
        // The run does not start if the stack is full.
        frame.memory.running = false
        throw error
      }
    }
    return valueOf(taken, operandCount)
  }

  /** Prepares an asynchronous call, or finds one if calls can be shared. */
  const begin = (tensors: Tensors, options: AnyOptions): RemoteRun<Call> & TakenCall => {
    const given = { ...checkOptions(options, knownAsync) } as AnyOptions
    const { results, allocator = ownAllocator, alignment } = given
    const attributes = reader.read(hasAttributes ? given.attrs : given.opaque)
    const operandCount = countOf(tensors, refuseOperands)
    const taken = takeTensors(tensors, operandCount, results, allocator, alignment)
    const frame = remote && frames.find(taken, operandCount, alignment, undefined, attributes)
    if (frame !== undefined) frame.memory.running = false
    const opened = frame?.call ?? open(taken, operandCount, alignment, attributes)
    if (remote !== undefined && frame === undefined) {
      frames.keep(opened, { types: opened.shape.types, operandCount, alignment, layouts: undefined, attributes })
    }
    return { call: opened, tensors: taken.slice(first) as unknown as Tensors, options: given, taken, operandCount }
  }

  const async = async (tensors: Tensors, options: AnyOptions): Promise<unknown> => {
    const { call: begun, tensors: all, options: given, taken, operandCount } = begin(tensors, options)
    const { signal, deadline } = given
    await runAsync(begun, all, remote === undefined ? { signal, deadline } : given)
    return valueOf(taken, operandCount)
  }

  /** Begins a call of a batch. */
  const beginOne = (tensors: Tensors, options: AnyOptions): Begun<Call> => {
    const begun = begin(tensors, options)
    return { run: begun, value: () => valueOf(begun.taken, begun.operandCount) }
  }
  return { call, async, begin: beginOne }
}

function valueOf(taken: readonly Gated[], operandCount: number): unknown {
  const firstResult = FIRST_TENSOR + operandCount
  return taken.length === firstResult + 1 ? taken[firstResult] : taken.slice(firstResult)
}

/** Gives a function its name and members. They are not enumerable, so that `console.log` prints the function in one line. */
export function callable<Members extends object>(
  call: (...args: never[]) => unknown,
  name: string,
  members: Members,
): ((...args: never[]) => unknown) & Members {
  for (const [key, value] of Object.entries({ ...members, name })) Object.defineProperty(call, key, { value })
  return call as ((...args: never[]) => unknown) & Members
}

/** Returns the length of an array, which is read once. @throws {ArgumentError} for another value, or an array that is too long. */
function countOf(list: unknown, refuse: (list: unknown, most?: number) => never): number {
  if (!Array.isArray(list)) return refuse(list)
  const { length } = list
  return length <= MOST_TENSORS ? length : refuse(list, MOST_TENSORS)
}

/** Takes the tensors of a call, behind places for the call and its library. Each is read once. @throws {ArgumentError} */
function takeTensors(
  operands: readonly unknown[],
  operandCount: number,
  results: readonly unknown[],
  allocator: NativeAllocator | undefined,
  alignment: number | undefined,
): Gated[] {
  const resultCount = countOf(results, refuseResults)
  const taken = makeList(operandCount + resultCount)
  copyTensors(taken, operands, operandCount, results, resultCount)
  completeTensors(taken, operandCount, allocator, alignment)
  return taken
}

/**
 * Checks what was copied, and makes the results of types.
 *
 * @returns whether all results were given. @throws {ArgumentError}
 */
function completeTensors(
  list: unknown[],
  operandCount: number,
  allocator: NativeAllocator | undefined,
  alignment: number | undefined,
): boolean {
  const firstResult = FIRST_TENSOR + operandCount
  for (let i = FIRST_TENSOR; i < firstResult; i++) {
    if (!isTensor(list[i])) refuseTensor(list[i], `operand ${i - FIRST_TENSOR}`)
  }
  let areGiven = true
  for (let i = firstResult; i < list.length; i++) {
    const spec = list[i]
    if (spec instanceof TensorType) {
      list[i] = allocateResult(spec, allocator, alignment)
      areGiven = false
    } else if (!isTensor(spec)) {
      refuseTensor(spec, `result ${i - firstResult}`, 'a tensor or a type')
    }
  }
  return areGiven
}

function refuseOperands(operands: unknown, most?: number): never {
  throw wrongType('operands', `an array of ${upTo(most)}tensors`, operands, MAKE_TENSORS)
}

function refuseResults(results: unknown, most?: number): never {
  const hint = 'Write { results: [f32([2, 4])] }, because only the kernel knows the types of its results.'
  throw wrongType('results', `an array of ${upTo(most)}tensors or types`, results, hint)
}

const upTo = (most: number | undefined): string => (most === undefined ? '' : `at most ${most} `)
