import { Tensor } from '@tenon/core'
import {
  callNamed,
  callsInProgress,
  CONSTANTS,
  coreFunctionAddress,
  guardMode,
  isTraced as isAnyTraced,
  newTrace,
  profiling,
  READ_ONLY,
  takeThrown,
  traceAgain,
  threadDriver,
  WORDS,
  words,
  type Gated,
} from '@tenon/core/internal'
import { stagedBytes, type CallFrame } from '../native/call-frame.ts'
import type { CallShape } from '../shape/call-shape.ts'
import { enterCore } from '../native/enter-core.ts'
import { guardedRun, type RunFrame } from './guarded-run.ts'
import type { CallTarget, Runnable } from './call-target.ts'
import { adoptTensors, areAliased, patchEach, type TensorUser } from './check-tensors.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/** A prepared call, as far as it is run. */
interface RunnableCall extends TensorUser {
  readonly target: CallTarget
  readonly frame: CallFrame
}

/** Runs calls on this thread. */
interface Runs {
  /**
   * Checks the tensors of a list, behind places for the call and its library, and writes their pointers into a frame. Objects of other
   * libraries are replaced by tensors. No other code of the user runs. Operands in other layouts are copied into memory of the frame.
   *
   * @throws {ArgumentError | ReadOnlyError | AlignmentError | ScopeClosedError} if a tensor cannot be passed, or the call or its
   * library is closed.
   */
  writePointers(call: TensorUser, frame: CallFrame, list: Gated[]): void
  /**
   * Runs a call on the tensors of a list, behind places for the call and its library. The frame is not marked as running any more
   * when the run has ended.
   *
   * @throws as {@link writePointers} @throws the error of the run
   */
  runOn(call: RunnableCall, list: Gated[]): void
  /**
   * Runs a frame, which is marked as running meanwhile.
   *
   * @param held the operands that the run holds open. @param kept those whose tensors streams keep open until the work is done.
   * @throws the error of the run
   */
  runHeld(target: Runnable, frame: CallFrame, held: readonly Gated[], kept: readonly Gated[]): void
}

/** A function, whose constants are part of the compiled code. The bundler turns those of a module into variables. */
function makeRuns(): Runs {
  const calls = callsInProgress
  const first = FIRST_TENSOR
  const readOnly = READ_ONLY
  const { isGenuine } = Tensor
  let run: RunFrame = (kind, frame, name) => {
    run = guardMode ? guardedRun(makeRunFrame()) : makeRunFrame()
    return run(kind, frame, name)
  }
  const isTraced = isAnyTraced

  /**
   * Returns false, without a reason, if anything looks wrong. Exposed memory that is empty may be detached, which {@link patchEach}
   * finds out: isDetached() would cost 5 ns for each tensor.
   */
  const patch = ({ shape, gate, target }: TensorUser, frame: CallFrame, list: readonly Gated[]): boolean => {
    const { words: pointers, places } = frame
    const { types, operandCount, misalignment, deviceType } = shape
    let isSame = true
    if (frame.types !== types) frame.resize(shape)
    try {
      for (let i = 0; i < types.length; i++) {
        const tensor = list[first + i] as Tensor
        // First, because reading a Proxy runs code of the user.
        if (!isGenuine(tensor) || tensor.type !== types[i]) return false
        const { block, lo } = tensor
        if (!tensor.gate.open || tensor.device.type !== deviceType) return false
        if ((lo & misalignment) !== 0 || (i >= operandCount && (tensor.flags & readOnly) !== 0)) return false
        if (block.exposed && block.bytes.length === 0) return false
        const { hi } = tensor
        const place = places[i]!
        if (pointers[place] === lo && pointers[place + 1] === hi) continue
        isSame = false
        pointers[place] = lo
        pointers[place + 1] = hi
      }
      if (!isSame && !(areApart(shape, frame) && (shape.aliases.length === 0 || areAliased(shape, list)))) return false
      return gate.open && target.gate.open
    } catch {
      // One of the tensors is not an object.
      return false
    }
  }

  const writePointers: Runs['writePointers'] = (call, frame, list) => {
    if (patch(call, frame, list)) return
    if (adoptTensors(call.shape, list) && patch(call, frame, list)) return
    forgetPointers(frame)
    patchEach(call, frame, list)
  }

  const runHeld: Runs['runHeld'] = (target, frame, held, kept) => {
    let place = -1
    let status: number
    try {
      calls.lists[calls.depth] = held
      place = calls.depth++
      frame.running = true
      status = run(target.kind, frame, target.name)
    } finally {
      // Before anything is called, because the stack of JavaScript may be full.
      frame.running = false
      if (place !== -1) {
        calls.depth = place
        calls.lists[place] = undefined
        if (target.streams.length > 0) target.keep(kept)
      }
    }
    if (status !== 0) throw target.failure(frame, status)
  }

  const runOn: Runs['runOn'] = (call, list) => {
    if (isTraced()) return runTraced(call, list)
    const { target, frame } = call
    list[0] = call
    list[1] = target
    writePointers(call, frame, list)
    runHeld(target, frame, list, list)
  }

  /** The list has its tensors already, so subscribers run no code between the checks of the tensors and the run. */
  const runTraced: Runs['runOn'] = (call, list) => {
    const { target, shape } = call
    const trace = newTrace(target.name, target.convention, shape.types.slice(0, shape.operandCount), false)
    traceAgain(trace, () => {
      const before = stagedBytes
      try {
        runOn(call, list)
      } finally {
        trace.copiedBytes = stagedBytes - before
      }
    })
  }

  return { writePointers, runHeld, runOn }
}

/**
 * Whether each result of a frame is apart from all other tensors, or exactly in the memory of an operand. The difference of two
 * addresses without its high bits is small for all tensors that overlap, and for few others, for which this returns false as well.
 */
function areApart({ byteSizes, operandCount }: CallShape, { words: pointers, places }: CallFrame): boolean {
  for (let i = operandCount; i < byteSizes.length; i++) {
    const place = places[i]!
    const byteSize = byteSizes[i]!
    const lo = pointers[place]!
    for (let j = 0; j < i; j++) {
      const otherPlace = places[j]!
      const other = pointers[otherPlace]!
      if (((lo - other) | 0) >= byteSizes[j]! || ((other - lo) | 0) >= byteSize) continue
      if (j >= operandCount || lo !== other || byteSize !== byteSizes[j]) return false
      if (pointers[place + 1] !== pointers[otherPlace + 1]) return false
    }
  }
  return true
}

/** Makes the next run check all tensors together, and not only those that are not those of the run before. */
function forgetPointers({ words: pointers, places }: CallFrame): void {
  for (const place of places) {
    pointers[place] = 0
    pointers[place + 1] = 0
  }
}

const runs = makeRuns()
export const writePointers: Runs['writePointers'] = runs.writePointers
export const runHeld: Runs['runHeld'] = runs.runHeld
export const runOn: Runs['runOn'] = runs.runOn

/**
 * Makes the function that runs frames. All calls share one, so that the compiler knows what it calls.
 *
 * The entries take no parameter, which would cost a sixth of a native call, but find the address of the call in the frame of the
 * thread. Each has its own place among the entries of the driver. They are called by name, because the compiler calls a native
 * function directly only if it is always the same one.
 */
function makeRunFrame(): RunFrame {
  const { entry } = threadDriver()
  const thread = words
  const [call, statusWord, state] = [WORDS.general, WORDS.errno, WORDS.state]
  const { TN_XLA_JOB_TYPED: TYPED, TN_XLA_JOB_UNTYPED: UNTYPED } = CONSTANTS
  const runTyped = entry(0, coreFunctionAddress('tn_xla_execute_current'))
  const runUntyped = entry(1, coreFunctionAddress('tn_xla_execute_untyped_current'))
  const runBatch = entry(2, coreFunctionAddress('tn_xla_execute_batch_current'))
  const PROFILED = profiling
  return (kind, { lo, hi }, name) => {
    // Every call overwrites the frame of the thread, so nothing may run between these stores and the loads.
    thread[call] = lo
    thread[call + 1] = hi
    if (PROFILED) callNamed(name, kind === TYPED ? runTyped : kind === UNTYPED ? runUntyped : runBatch)
    else if (kind === TYPED) runTyped()
    else if (kind === UNTYPED) runUntyped()
    else runBatch()
    const status = thread[statusWord]!
    const how = thread[state]!
    return how === 0 ? status : endThrown(how, status, kind, (lo >>> 0) + hi * 2 ** 32)
  }
}

/**
 * Ends a run during which a function of TypeScript or the kernel threw. The entries run kernels without the guard, so after a
 * C++ exception native code does here what is left of the run.
 *
 * @returns the status of a run that a C++ exception has ended. @throws what an upcall stub has thrown
 */
function endThrown(how: number, status: number, kind: number, address: number): number {
  const { TN_CALL_THROWN: THROWN, TN_CALL_CAUGHT: CAUGHT } = CONSTANTS
  const ended = how === THROWN ? status : enterCore('tn_xla_end_exception', address, kind, status >>> 0)
  if (how !== CAUGHT) throw takeThrown()
  return ended
}
