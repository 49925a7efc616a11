import type { NativeAllocator } from '@tenon/core'
import { newTensor, type Gated } from '@tenon/core/internal'
import { allocateResult } from './allocate-result.ts'
import { callBatch } from './call-batch.ts'
import type { Callee } from './callee.ts'
import { makeFrames, type FrameArguments, type FrameCall, type FrameKey, type InferTypes } from './frames.ts'
import { FIRST_TENSOR, typesOf, UNSET } from './operand-list.ts'
import type { RunAsyncOptions } from './run-later.ts'
import { runsStrings, type StringCalls } from './string-calls.ts'

/** The options of a call that do not depend on how its arguments are passed. */
export interface CommonOptions extends RunAsyncOptions {
  readonly allocator?: NativeAllocator | undefined
  readonly alignment?: number | undefined
}

/** The arguments of one call, each of which was read once. */
export interface CallArguments extends FrameArguments {
  /** Whether each result has a tensor. */
  readonly isComplete: boolean
  /** Whether later calls that are alike may use what is prepared for this one. */
  readonly isKeepable: boolean
  readonly options: CommonOptions
}

/** How the arguments of a function's calls are passed, and their results returned. */
export interface CallForm<Call extends FrameCall, Arguments extends CallArguments> {
  /**
   * Reads the arguments of a call.
   *
   * @throws {ArgumentError} if an argument cannot be passed.
   */
  read(args: readonly unknown[], isAsync: boolean): Arguments
  /** Prepares a call for arguments. @throws {ArgumentError} if something cannot be passed. */
  prepare(args: Arguments): Call
  /** Makes the inference for calls that differ from one that was prepared only in the sizes of tensors. */
  inference(key: FrameKey): InferTypes<Arguments>
  /** Makes results share memory with operands. No place of the list is empty. */
  share?(list: Gated[], operandCount: number): void
  /** The steps for strings among operands and results. */
  readonly strings?: StringCalls | undefined
  /** Returns the value of a call. */
  valueOf(args: Arguments): unknown
}

/** The functions that run calls. */
export interface CallFunctions {
  call(...args: unknown[]): unknown
  async(...args: unknown[]): Promise<unknown>
  /** Runs calls, each of which is an array of arguments. Only for calls that run in another process. */
  batch(calls: unknown): Promise<PromiseSettledResult<unknown>[]>
}

/** Makes the functions that read arguments, find or prepare a call, allocate results, and run the call. */
export function callFunction<Call extends FrameCall, Arguments extends CallArguments, Shape>(
  name: string,
  { read, prepare, inference, share, valueOf, strings }: CallForm<Call, Arguments>,
  callee: Callee<Call, Shape>,
): CallFunctions {
  const { frames, remote } = callee
  const { run, runAsync } = strings === undefined ? callee : runsStrings(strings, callee)
  const { find, keep } = makeFrames<Call, Arguments>(frames, inference)
  const ownAllocator = remote?.allocator
  const newOwn = remote === undefined ? newTensor : remote.newTensor
  const first = FIRST_TENSOR
  const unset = UNSET

  /** Allocates the results that the caller did not pass. */
  const complete = ({ list, operandCount, options }: Arguments, { shape }: Call): void => {
    const { types } = shape
    for (let i = operandCount; i < types.length; i++) {
      if (list[first + i] !== unset) continue
      const type = types[i]!
      // The strings of a result are copied to the allocator of the caller after the call, when their size is known.
      const allocator = type.strings === undefined ? (options.allocator ?? ownAllocator) : ownAllocator
      const { alignment } = options
      // Most calls have neither option, and need no check of them.
      const isPlain = allocator === ownAllocator && alignment === undefined
      list[first + i] = isPlain ? newOwn(type) : allocateResult(type, allocator, alignment)
    }
    share?.(list, operandCount)
  }

  /** Prepares and runs a call, and keeps it for later calls that are alike. */
  const runNew = (args: Arguments): void => {
    const key = keyOf(args)
    const call = prepare(args)
    call.frame.running = true
    try {
      complete(args, call)
      run(call, args.list, args.options)
    } finally {
      call.frame.running = false
      if (!args.isKeepable || !keep(call, key)) call.closeAfterRuns()
    }
  }

  const call = (...values: unknown[]): unknown => {
    const args = read(values, false)
    const kept = args.isKeepable ? find(args, false) : undefined
    if (kept === undefined) {
      runNew(args)
      return valueOf(args)
    }
    try {
      if (!args.isComplete) complete(args, kept)
      run(kept, args.list, args.options)
    } catch (error) {
      // The run does not start if the stack is full.
      kept.frame.running = false
      throw error
    }
    return valueOf(args)
  }

  /** Finds or prepares a call of which several runs can be in progress, and allocates the results. */
  const begin = (args: Arguments): { readonly call: Call; readonly isKept: boolean } => {
    const { isKeepable } = args
    const kept = isKeepable ? find(args, true) : undefined
    const key = kept === undefined ? keyOf(args) : undefined
    const opened = kept ?? prepare(args)
    const isKept = key === undefined || (isKeepable && keep(opened, key))
    const { frame } = opened
    const { running } = frame
    // An allocator can call this function, which must not close the call meanwhile.
    frame.running = true
    try {
      complete(args, opened)
    } catch (error) {
      if (!isKept) opened.closeAfterRuns()
      throw error
    } finally {
      frame.running = running
    }
    return { call: opened, isKept }
  }

  const async = async (...values: unknown[]): Promise<unknown> => {
    const args = read(values, true)
    const { call: begun, isKept } = begin(args)
    try {
      await runAsync(begun, args.list, args.options)
    } finally {
      if (!isKept) begun.closeAfterRuns()
    }
    return valueOf(args)
  }

  const batch = callBatch<Call>(name, remote, (values) => {
    const args = read(values, true)
    const { call: begun, isKept } = begin(args)
    strings?.check(args.list, true)
    return {
      run: { call: begun, list: args.list, options: args.options },
      end: () => {
        if (!isKept) begun.closeAfterRuns()
      },
      value: () => {
        strings?.take(args.list, args.options.allocator)
        return valueOf(args)
      },
    }
  })

  return { call, async, batch }
}

function keyOf({ list, operandCount, variant, attributes }: CallArguments): FrameKey {
  return { types: typesOf(list), operandCount, variant, attributes }
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
