import type { Tensor, TensorType } from '@tenon/core'
import { Cleaner, globalGate, type Gate, type Gated } from '@tenon/core/internal'
import { areKeepable, byteSizeOf, isSame } from '../attributes/snapshot.ts'
import { differOnlyInSizes } from '../shape/other-sizes.ts'
import { FIRST_TENSOR, typesOf } from './operand-list.ts'

/** A prepared call that a function keeps for later calls that are alike. */
export interface FrameCall {
  /** Whether a call of this thread uses it. */
  readonly frame: { running: boolean }
  /** The types of the tensors, operands before results. */
  readonly shape: { readonly types: readonly TensorType[] }
  readonly isAlive: boolean
  /** Closes the call when no run uses it. */
  closeAfterRuns(): void
  /**
   * Returns the call for tensors of other sizes, which has the same frame and is closed with this one. Undefined if its frame cannot
   * have them; calls without this function have frames for one shape.
   */
  withTypes?(types: readonly TensorType[]): FrameCall | undefined
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

/**
 * Returns the types of all tensors of a call that differs only in sizes from one that was prepared.
 *
 * @throws {ArgumentError} if the call contradicts the signature. @returns undefined if the call must be prepared.
 */
export type InferTypes<Arguments> = (args: Arguments) => readonly TensorType[] | undefined

/** The prepared calls that one function keeps. */
export interface Frames<Call extends FrameCall, Arguments extends FrameArguments> {
  /**
   * Returns the call for these arguments. Nothing of the caller is read, so no code of the user runs.
   *
   * @throws {ArgumentError} if the call has another shape, and contradicts the signature.
   * @param isShared whether several runs of the call can be in progress. Otherwise no call uses it, and it is marked as running.
   */
  find(args: Arguments, isShared: boolean): Call | undefined
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

/** The most shapes for which the calls of a function keep what they have inferred. */
export const MOST_SHAPES = 2048

/** A prepared call for one shape. */
interface Shaped<Call extends FrameCall> {
  readonly call: Call
  /** The types as in {@link FrameKey}. */
  readonly types: FrameKey['types']
  /** The shape that followed this one, because shapes often come in turn. */
  next: Shaped<Call> | undefined
  /** False once the shape is forgotten. */
  isKept: boolean
}

interface Entry<Call extends FrameCall, Arguments> extends Omit<FrameKey, 'types'> {
  /** The last shape. */
  shaped: Shaped<Call>
  readonly frame: Call['frame']
  readonly attributeBytes: number
  /** Further shapes by the hash of their types, the oldest first; undefined for a call with one shape. */
  shapes: Map<number, Shaped<Call>> | undefined
  /** The inference of further shapes, once one is needed. */
  infer: InferTypes<Arguments> | undefined
  /** The time of the last use, in calls of the function. */
  lastUse: number
}

/** The time at which all times are counted anew, so that they stay small integers, which are faster. */
const LATEST = 2 ** 30 - 1

/** Makes an empty store. Its constants are part of the compiled code. @param inference makes the inference for calls like one. */
export function makeFrames<Call extends FrameCall, Arguments extends FrameArguments>(
  { limit, gate }: FrameLimits,
  inference: (key: FrameKey) => InferTypes<Arguments>,
): Frames<Call, Arguments> {
  type Own = Entry<Call, Arguments>
  const entries: Own[] = []
  const alike = isSame
  const first = FIRST_TENSOR
  let latest: Own | undefined
  /** The index of the latest entry. */
  let last = 0
  let time = 0
  let isWatched = false
  let keptBytes = 0
  let keptShapes = 0

  const restart = (): void => {
    entries.toSorted((a, b) => a.lastUse - b.lastUse).forEach((entry, i) => (entry.lastUse = i))
    time = entries.length
  }

  const stamp = (entry: Own, at: number): void => {
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

  /** Whether a call runs tensors of these types. A result that the call allocates has no type. */
  const hasTypes = (types: FrameKey['types'], { list }: Arguments): boolean => {
    if (list.length !== first + types.length) return false
    for (let i = 0; i < types.length; i++) if ((list[first + i] as Partial<Tensor>).type !== types[i]) return false
    return true
  }

  /** Whether the call of a key can run these arguments, if their types are the same. */
  const isLike = (key: Omit<FrameKey, 'types'>, { operandCount, variant, attributes }: Arguments): boolean => {
    if (key.operandCount !== operandCount || key.variant !== variant) return false
    return attributes === key.attributes || areSame(attributes, key.attributes)
  }

  /** Makes the shape of the arguments the last one of an entry. Returns false if the entry does not have it, and cannot make it. */
  const takeShape = (entry: Own, args: Arguments): boolean => {
    const { shaped, shapes } = entry
    if (hasTypes(shaped.types, args)) return true
    if (shapes === undefined) return false
    let { next } = shaped
    if (next === undefined || !next.isKept || !hasTypes(next.types, args)) {
      const hash = hashOfList(args.list)
      next = shapes.get(hash)
      if (next === undefined || !hasTypes(next.types, args)) {
        next = makeShape(entry, args)
        if (next === undefined) return false
        addShape(entry, hash, next)
      }
      shaped.next = next
    }
    entry.shaped = next
    return true
  }

  /** Infers the types of a shape that is new to an entry. */
  const makeShape = (entry: Own, args: Arguments): Shaped<Call> | undefined => {
    const types = typesOf(args.list)
    const { shaped } = entry
    if (!differOnlyInSizes(shaped.types, types)) return undefined
    entry.infer ??= inference({ ...entry, types: shaped.types })
    const all = entry.infer(args)
    if (all === undefined || !differOnlyInSizes(shaped.call.shape.types, all)) return undefined
    const call = shaped.call.withTypes!(all) as Call | undefined
    // One list is enough if the caller passes all tensors.
    return call && { call, types: types.includes(undefined) ? types : all, next: undefined, isKept: true }
  }

  /** Adds a shape to an entry. The oldest one of the entry with the most shapes is forgotten if there are too many. */
  const addShape = (entry: Own, hash: number, shaped: Shaped<Call>): void => {
    const shapes = entry.shapes!
    keptShapes -= shapes.size
    shapes.set(hash, shaped)
    keptShapes += shapes.size
    if (keptShapes <= MOST_SHAPES) return
    let most = shapes
    for (const other of entries) if ((other.shapes?.size ?? 0) > most.size) most = other.shapes!
    for (const [oldest, forgotten] of most) {
      most.delete(oldest)
      forgotten.isKept = false
      // So that the shapes that are kept refer to few others.
      forgotten.next = undefined
      break
    }
    keptShapes--
  }

  /** Calls with the same attributes come one after another, or in turn: the entry behind the last one is tried first. */
  const search: Frames<Call, Arguments>['find'] = (args, isShared) => {
    const { length } = entries
    let at = last
    for (let n = 0; n < length; n++) {
      at = at + 1 === length ? 0 : at + 1
      const entry = entries[at]!
      if ((!isShared && entry.frame.running) || !isLike(entry, args) || !takeShape(entry, args)) continue
      stamp(entry, at)
      // Last, because stamp() throws if the stack is full.
      if (!isShared) entry.frame.running = true
      return entry.shaped.call
    }
    return undefined
  }

  const find: Frames<Call, Arguments>['find'] = (args, isShared) => {
    const entry = latest
    if (entry === undefined || (!isShared && entry.frame.running) || !isLike(entry, args) || !takeShape(entry, args))
      return search(args, isShared)
    if (!isShared) entry.frame.running = true
    return entry.shaped.call
  }

  const keep: Frames<Call, Arguments>['keep'] = (made, { types, operandCount, variant, attributes }) => {
    if (limit === 0 || !gate.open || !areKeepable(attributes)) return false
    const attributeBytes = byteSizeOf(attributes)
    const resized = made.withTypes?.(made.shape.types) as Call | undefined
    // Calls of one class, so that all runs of functions are compiled for it.
    const call = resized ?? made
    const entry: Own = {
      shaped: { call, types, next: undefined, isKept: true },
      frame: call.frame,
      operandCount,
      variant,
      attributes,
      attributeBytes,
      shapes: resized && new Map(),
      infer: undefined,
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
    if (resized !== undefined) addShape(entry, hashOf(types), entry.shaped)
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
  const forget = ({ shaped: { call }, attributeBytes, shapes }: Own): void => {
    keptBytes -= attributeBytes
    keptShapes -= shapes?.size ?? 0
    call.closeAfterRuns()
  }

  const close = (): void => {
    latest = undefined
    keptBytes = keptShapes = 0
    for (const {
      shaped: { call },
    } of entries.splice(0))
      if (call.isAlive) call.closeAfterRuns()
  }

  const store = { find, keep, close }
  return store
}

const { imul } = Math

/** Returns the hash of the types of a list. */
function hashOfList(list: readonly Gated[]): number {
  let hash = 0
  for (let i = FIRST_TENSOR; i < list.length; i++)
    hash = imul(hash, 31) + ((list[i] as Partial<Tensor>).type?.hash ?? 0)
  return hash | 0
}

/** Returns the same for types. */
function hashOf(types: FrameKey['types']): number {
  let hash = 0
  for (const type of types) hash = imul(hash, 31) + (type?.hash ?? 0)
  return hash | 0
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
