import type { TensorType } from '@tenon/core'
import { Cleaner, globalGate, type Gate, type Gated } from '@tenon/core/internal'
import { areKeepable, isSame } from '../attributes/snapshot.ts'
import type { RunAsyncOptions } from '../async/run-later.ts'
import { FIRST_TENSOR } from './taken.ts'
import { haveTypes } from './patch-pointers.ts'

/** The key of a frame. Calls with the same key can use the same frame. */
export interface FrameKey {
  /** The types of the operands, and then of the results that the caller passed; undefined for those that were inferred. */
  readonly types: readonly (TensorType | undefined)[]
  readonly operandCount: number
  readonly alignment: number | undefined
  /** The layouts that the caller passed, as text. */
  readonly layouts: string | undefined
  /** Snapshots of the attributes, by the position of their names. */
  readonly attributes: readonly unknown[]
}

/** A call that is ready to run with tensors of its types. */
export interface FrameCall {
  /** Whether a call uses it. */
  readonly memory: { running: boolean }
  /** The types of the tensors, operands before results. */
  readonly shape: { readonly types: readonly TensorType[] }
  readonly isAlive: boolean
  close(): void
}

/** Runs a call that is marked as running, and clears the mark. The tensors are in a list of their own. */
export type RunFrame<Call extends FrameCall> = (call: Call, taken: Gated[], options?: RunAsyncOptions) => void

/** Runs calls in their own lists of tensors, for calls that run in this process. */
export interface InPlaceRuns<Call extends FrameCall> {
  /** The list of a call that is marked as running, whose places behind the call and its library the caller fills. */
  tensorsOf(call: Call): Gated[]
  /** Runs a call whose list is filled, and clears its mark and its list. @returns false, and clears nothing, if a tensor does not fit */
  tryRun(call: Call): boolean
  /** Clears the mark and the list of a call that was not run. */
  leave(call: Call): void
}

/** A prepared call that a function keeps for later calls that are alike. */
export interface Frame<Call extends FrameCall> extends FrameKey {
  readonly call: Call
  readonly memory: Call['memory']
  /** The time of the last use, in calls of the function. */
  lastUse: number
}

/** The frames of one function. */
export interface KeptFrames<Call extends FrameCall> {
  /**
   * Returns the frame of a call with these tensors and attributes, which no call uses, and marks it as running. Nothing of the
   * caller is read, so no code of the user runs.
   *
   * @param taken places for the call and its library, the operands, and the results; `undefined` for a result to infer.
   */
  find(
    taken: readonly (Gated | undefined)[],
    operandCount: number,
    alignment: number | undefined,
    layouts: string | undefined,
    attributes: readonly unknown[],
  ): Frame<Call> | undefined
  /**
   * Returns the frame that a call with as many tensors and these attributes needs if its types are those of the last call, or if
   * its function uses its frames in turn. It is marked as running. The types of the tensors are not compared.
   */
  guess(tensorCount: number, operandCount: number, attributes: readonly unknown[]): Frame<Call> | undefined
  /** Takes back that a guess was right. The mark of the frame is not cleared. */
  miss(): void
  /**
   * Runs a new call and then keeps it, for which the frame that was unused for the longest time is closed. A call is closed
   * instead if an attribute has memory, which it would keep open, or was not copied.
   *
   * @throws the errors of the run
   */
  runNew(call: Call, key: FrameKey, taken: Gated[], options?: RunAsyncOptions): void
  /** Keeps a call, or closes it, as {@link runNew} does. */
  keep(call: Call, key: FrameKey): void
  /** Closes the frames of calls that are not in progress. */
  close(): void
}

/** Which frames a function keeps. */
export interface FrameLimits {
  /** The greatest number of frames; 0 for calls with a state, because they belong to one call site. */
  readonly limit: number
  /** The gate of the library, whose end closes the frames. */
  readonly gate: Gate
}

/** The number of frames that a function keeps by default. */
export const DEFAULT_FRAMES = 8

/** The time at which all times are counted anew, so that they stay small integers, which are faster. */
const LATEST = 2 ** 30 - 1

/** Makes an empty store of frames. Its constants are part of the compiled code. */
export function makeKeptFrames<Call extends FrameCall>(
  { limit, gate }: FrameLimits,
  run: RunFrame<Call>,
): KeptFrames<Call> {
  const frames: Frame<Call>[] = []
  const alike = isSame
  const typesMatch = haveTypes
  const first = FIRST_TENSOR
  let last = 0
  /** What the last guess changed: the last frame, and the time of the guessed one. */
  let lastBefore = 0
  let timeBefore = 0
  /** Whether the last call used the frame behind that of the call before. */
  let isInTurn = false
  /** The frame that the next call probably needs. */
  let expected: Frame<Call> | undefined
  let time = 0
  let isWatched = false

  const restart = (): void => {
    frames.toSorted((a, b) => a.lastUse - b.lastUse).forEach((frame, i) => (frame.lastUse = i))
    time = frames.length
  }

  const nextOf = (at: number): number => (at + 1 === frames.length ? 0 : at + 1)

  /** Makes a frame the last one. */
  const stamp = (frame: Frame<Call>, at: number): void => {
    if (time >= LATEST) restart()
    frame.lastUse = time++
    last = at
    const next = isInTurn ? frames[nextOf(at)]! : frame
    expected = next.alignment === undefined && next.layouts === undefined ? next : undefined
  }

  const areSame = (attributes: readonly unknown[], kept: readonly unknown[]): boolean => {
    if (attributes.length !== kept.length) return false
    for (let i = 0; i < attributes.length; i++) if (!alike(attributes[i], kept[i])) return false
    return true
  }

  const find: KeptFrames<Call>['find'] = (taken, operandCount, alignment, layouts, attributes) => {
    const { length } = frames
    // Calls with the same types come one after another, or in turn: the last frame is tried first, and then the next one.
    let at = last
    for (let n = 0; n < length; n++) {
      const frame = frames[at]!
      if (
        isFree(frame, taken.length - first, operandCount, alignment, layouts) &&
        typesMatch(taken, frame.types) &&
        (attributes === frame.attributes || areSame(attributes, frame.attributes))
      ) {
        isInTurn = at !== last
        stamp(frame, at)
        // Last, because stamp() throws if the stack is full.
        frame.memory.running = true
        return frame
      }
      at = nextOf(at)
    }
    return undefined
  }

  const guess: KeptFrames<Call>['guess'] = (tensorCount, operandCount, attributes) => {
    const frame = expected
    if (frame === undefined || frame.memory.running) return undefined
    if (frame.types.length !== tensorCount || frame.operandCount !== operandCount) return undefined
    if (frame.attributes !== attributes && !areSame(attributes, frame.attributes)) return undefined
    // If it is the last frame, it has the latest time already.
    if (isInTurn) {
      lastBefore = last
      timeBefore = frame.lastUse
      stamp(frame, nextOf(last))
    }
    // Last, because stamp() throws if the stack is full.
    frame.memory.running = true
    return frame
  }

  const miss = (): void => {
    const [guessed, before] = [frames[last], frames[lastBefore]]
    if (!isInTurn || guessed === undefined || before === undefined) return
    isInTurn = false
    guessed.lastUse = timeBefore
    stamp(before, lastBefore)
  }

  const keep: KeptFrames<Call>['keep'] = (call, key) => {
    const { types, operandCount, alignment, layouts, attributes } = key
    if (limit === 0 || !gate.open || !areKeepable(attributes)) {
      call.close()
      return
    }
    const { memory } = call
    const frame: Frame<Call> = { call, memory, types, operandCount, alignment, layouts, attributes, lastUse: 0 }
    if (!isWatched) {
      isWatched = true
      closeWithLibrary(gate, store)
    }
    if (frames.length < limit) {
      stamp(frame, frames.push(frame) - 1)
      return
    }
    let oldest = -1
    for (let i = 0; i < frames.length; i++) {
      if (!frames[i]!.memory.running && (oldest === -1 || frames[i]!.lastUse < frames[oldest]!.lastUse)) oldest = i
    }
    // If all others are running, this one is closed.
    const unused = oldest === -1 ? frame : frames[oldest]!
    if (oldest !== -1) {
      frames[oldest] = frame
      stamp(frame, oldest)
    }
    unused.call.close()
  }

  const runNew: KeptFrames<Call>['runNew'] = (call, key, taken, options) => {
    call.memory.running = true
    try {
      run(call, taken, options)
    } finally {
      // The run does not start if the stack is full.
      call.memory.running = false
      keep(call, key)
    }
  }

  const close = (): void => {
    expected = undefined
    for (const frame of frames.splice(0)) if (frame.call.isAlive) frame.call.close()
  }

  const store: KeptFrames<Call> = { find, guess, miss, runNew, keep, close }
  return store
}

/** Whether no call uses a frame, and all but its types and attributes is that of a call. */
function isFree(
  frame: Frame<FrameCall>,
  tensorCount: number,
  operandCount: number,
  alignment: number | undefined,
  layouts: string | undefined,
): boolean {
  return (
    !frame.memory.running &&
    frame.types.length === tensorCount &&
    frame.operandCount === operandCount &&
    frame.alignment === alignment &&
    frame.layouts === layouts
  )
}

interface Closeable {
  close(): void
}

/** The stores of the functions of each library that is open. They do not keep the functions reachable. */
const stores = new WeakMap<Gate, Set<WeakRef<Closeable>>>()

const collected = new Cleaner<{ readonly of: Set<WeakRef<Closeable>>; readonly store: WeakRef<Closeable> }>(
  ({ of, store }) => of.delete(store),
)

/** Closes the frames of a function when its library is closed. */
function closeWithLibrary(gate: Gate, store: Closeable): void {
  // Handlers that registered themselves belong to no library that can be closed.
  if (gate === globalGate) return
  let of = stores.get(gate)
  if (of === undefined) {
    const made = new Set<WeakRef<Closeable>>()
    of = made
    stores.set(gate, made)
    gate.owner.addCloseAction(() => {
      for (const one of made) one.deref()?.close()
    })
  }
  const weak = new WeakRef(store)
  of.add(weak)
  collected.watch(store, { of, store: weak })
}
