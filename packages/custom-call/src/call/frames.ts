import type { Tensor, TensorType } from '@tenon/core'
import { Cleaner, globalGate, type Gate, type Gated } from '@tenon/core/internal'
import { areKeepable, byteSizeOf, isSame } from '../attributes/snapshot.ts'
import { FIRST_TENSOR } from './operand-list.ts'

/** A prepared call that a function keeps for later calls that are alike. */
export interface FrameCall {
  /** Whether a call of this thread uses it. */
  readonly frame: { running: boolean }
  /** The types of the tensors, operands before results. */
  readonly shape: { readonly types: readonly TensorType[] }
  readonly isAlive: boolean
  /** Closes the call when no run uses it. */
  closeAfterRuns(): void
}

/** The key of a prepared call. Calls with the same key can use the same one. */
export interface FrameKey {
  /** The types of the operands, and then of the results that the caller passed; undefined for those that were inferred. */
  readonly types: readonly (TensorType | undefined)[]
  readonly operandCount: number
  /** The alignment and the layouts that the caller passed, as text. */
  readonly variant: string | undefined
  /** Snapshots of the attributes, by the position of their names. */
  readonly attributes: readonly unknown[]
}

/** The arguments of a call, as far as they decide which prepared call it can use. */
export interface FrameArguments extends Omit<FrameKey, 'types'> {
  /** Places for the call and its library, the operands, and the results; UNSET for a result that the call allocates. */
  readonly list: Gated[]
}

/** The number of prepared calls that a function keeps, and how long. */
export interface FrameLimits {
  /** The greatest number; 0 for calls with a state, because they belong to one call site. */
  readonly limit: number
  /** The gate of the library, whose end closes the calls. */
  readonly gate: Gate
}

/** The prepared calls that one function keeps. */
export interface Frames<Call extends FrameCall> {
  /**
   * Returns the call for these arguments. Nothing of the caller is read, so no code of the user runs.
   *
   * @param isShared whether several runs of the call can be in progress. Otherwise no call uses it, and it is marked as running.
   */
  find(args: FrameArguments, isShared: boolean): Call | undefined
  /**
   * Keeps a call, for which the one that was unused for the longest time is closed.
   *
   * @returns whether the call is kept. It is not if an attribute has memory, which the call would keep open, or was not copied.
   */
  keep(call: Call, key: FrameKey): boolean
}

/** The number of prepared calls that a function keeps by default. */
export const DEFAULT_FRAMES = 8

/** The bytes of attributes that the calls of a function keep, besides those of the last one. */
const MOST_ATTRIBUTE_BYTES = 2 ** 22

interface Entry<Call extends FrameCall> extends FrameKey {
  readonly call: Call
  readonly frame: Call['frame']
  readonly attributeBytes: number
  /** The time of the last use, in calls of the function. */
  lastUse: number
}

/** The time at which all times are counted anew, so that they stay small integers, which are faster. */
const LATEST = 2 ** 30 - 1

/** Makes an empty store. Its constants are part of the compiled code. */
export function makeFrames<Call extends FrameCall>({ limit, gate }: FrameLimits): Frames<Call> {
  const entries: Entry<Call>[] = []
  const alike = isSame
  const first = FIRST_TENSOR
  let latest: Entry<Call> | undefined
  /** The index of the latest entry. */
  let last = 0
  let time = 0
  let isWatched = false
  let keptBytes = 0

  const restart = (): void => {
    entries.toSorted((a, b) => a.lastUse - b.lastUse).forEach((entry, i) => (entry.lastUse = i))
    time = entries.length
  }

  const stamp = (entry: Entry<Call>, at: number): void => {
    if (time >= LATEST) restart()
    entry.lastUse = time++
    latest = entry
    last = at
  }

  const areSame = (attributes: readonly unknown[], own: readonly unknown[]): boolean => {
    if (attributes.length !== own.length) return false
    for (let i = 0; i < attributes.length; i++) if (!alike(attributes[i], own[i])) return false
    return true
  }

  /** Whether the call of a key can run these arguments. A result that the call allocates has no type. */
  const isLike = (key: FrameKey, { list, operandCount, variant, attributes }: FrameArguments): boolean => {
    const { types } = key
    if (list.length !== first + types.length || key.operandCount !== operandCount || key.variant !== variant)
      return false
    for (let i = 0; i < types.length; i++) if ((list[first + i] as Partial<Tensor>).type !== types[i]) return false
    return attributes === key.attributes || areSame(attributes, key.attributes)
  }

  /** Calls with the same types come one after another, or in turn: the entry behind the last one is tried first. */
  const search: Frames<Call>['find'] = (args, isShared) => {
    const { length } = entries
    let at = last
    for (let n = 0; n < length; n++) {
      at = at + 1 === length ? 0 : at + 1
      const entry = entries[at]!
      if ((!isShared && entry.frame.running) || !isLike(entry, args)) continue
      stamp(entry, at)
      // Last, because stamp() throws if the stack is full.
      if (!isShared) entry.frame.running = true
      return entry.call
    }
    return undefined
  }

  const find: Frames<Call>['find'] = (args, isShared) => {
    const entry = latest
    if (entry === undefined || (!isShared && entry.frame.running) || !isLike(entry, args)) return search(args, isShared)
    if (!isShared) entry.frame.running = true
    return entry.call
  }

  const keep: Frames<Call>['keep'] = (call, { types, operandCount, variant, attributes }) => {
    if (limit === 0 || !gate.open || !areKeepable(attributes)) return false
    const attributeBytes = byteSizeOf(attributes)
    const entry: Entry<Call> = {
      call,
      frame: call.frame,
      types,
      operandCount,
      variant,
      attributes,
      attributeBytes,
      lastUse: 0,
    }
    if (!isWatched) {
      isWatched = true
      closeWithLibrary(gate, store)
    }
    while (haveTooMuch(attributeBytes)) {
      const oldest = oldestUnused()
      if (oldest === -1) break
      const [unused] = entries.splice(oldest, 1)
      forget(unused!)
    }
    if (entries.length < limit) {
      stamp(entry, entries.push(entry) - 1)
    } else {
      const oldest = oldestUnused()
      if (oldest === -1) return false
      const unused = entries[oldest]!
      entries[oldest] = entry
      stamp(entry, oldest)
      forget(unused)
    }
    keptBytes += attributeBytes
    return true
  }

  /** Whether the kept calls and another one have too many bytes of attributes together. */
  const haveTooMuch = (more: number): boolean => keptBytes > 0 && keptBytes + more > MOST_ATTRIBUTE_BYTES

  /** Returns the index of the entry that was unused for the longest time, or -1 if all are running. */
  const oldestUnused = (): number => {
    let oldest = -1
    for (let i = 0; i < entries.length; i++) {
      if (!entries[i]!.frame.running && (oldest === -1 || entries[i]!.lastUse < entries[oldest]!.lastUse)) oldest = i
    }
    return oldest
  }

  /** Closes the call of an entry that is not kept any more. */
  const forget = ({ call, attributeBytes }: Entry<Call>): void => {
    keptBytes -= attributeBytes
    call.closeAfterRuns()
  }

  const close = (): void => {
    latest = undefined
    keptBytes = 0
    for (const { call } of entries.splice(0)) if (call.isAlive) call.closeAfterRuns()
  }

  const store = { find, keep, close }
  return store
}

interface Closeable {
  close(): void
}

/** The stores of the functions of each library that is open. They do not keep the functions reachable. */
const stores = new WeakMap<Gate, Set<WeakRef<Closeable>>>()

const collected = new Cleaner<{ readonly of: Set<WeakRef<Closeable>>; readonly store: WeakRef<Closeable> }>(
  ({ of, store }) => of.delete(store),
)

/** Closes the calls of a function when its library is closed. */
function closeWithLibrary(gate: Gate, store: Closeable): void {
  // Handlers that registered themselves belong to no library that can be closed.
  if (gate === globalGate) return
  let of = stores.get(gate)
  if (of === undefined) {
    const all = new Set<WeakRef<Closeable>>()
    of = all
    stores.set(gate, all)
    gate.owner.addCloseAction(() => {
      for (const one of all) one.deref()?.close()
    })
  }
  const weak = new WeakRef(store)
  of.add(weak)
  collected.watch(store, { of, store: weak })
}
