import { addressOf, Cleaner, keepAlive, wrongType } from '@tenon/core/internal'
import { addForeign, drainReleased, foreignValues } from '../native/foreign.ts'
import { own, ownedAddress, releaseOwned } from '../native/owned.ts'
import { TEXT_SIZE, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { kindOf, makeError } from './error-kinds.ts'

/*
 * An error that crosses the boundary twice returns as the same object. One that JavaScript threw is kept for as long as its
 * native counterpart lives, and one that native code raised holds its native counterpart. Both are found by the native
 * object's address, which native code does not use again before the release has been drained.
 */

const thrownHere = new Map<number, unknown>()

const raisedThere = new Map<number, WeakRef<Error>>()
const nativeErrors = new WeakMap<Error, number>()
const collected = new Cleaner<number>((place) => {
  const address = ownedAddress(place)
  if (raisedThere.get(address)?.deref() === undefined) raisedThere.delete(address)
  releaseOwned(place)
})

const NO_ERROR = { kind: 'RuntimeError', sentence: 'a native function failed and raised no error' }

/** The JavaScript error for the native error that a failed call left in a slot. Takes over its reference. */
export function takeError(stack: Stack, slot: number): unknown {
  const address = stack.pointer(slot)
  return address === 0 ? makeError(NO_ERROR.kind, NO_ERROR.sentence, {}) : errorAt(stack, address)
}

export function takeErrorText(stack: Stack, slot: number): { kind: string; sentence: string } {
  const address = stack.pointer(slot)
  if (address === 0) return NO_ERROR
  const { kind, sentence, cause } = readError(stack, address)
  if (cause !== 0) stack.release(cause)
  stack.release(address)
  return { kind, sentence }
}

/** The JavaScript error for a native one. Takes over a reference. */
export function errorAt(stack: Stack, address: number): unknown {
  drainReleased(stack)
  const isThrownHere = thrownHere.has(address)
  const known = isThrownHere ? thrownHere.get(address) : raisedThere.get(address)?.deref()
  if (isThrownHere || known !== undefined) {
    stack.release(address)
    return known
  }
  const { kind, sentence, backtrace, cause } = readError(stack, address)
  const error = makeError(kind, sentence, {
    nativeBacktrace: mostRecentLast(backtrace),
    ...(cause === 0 ? {} : { cause: errorAt(stack, cause) }),
  })
  raisedThere.set(address, new WeakRef(error))
  nativeErrors.set(error, address)
  collected.watch(error, own(address))
  return error
}

/** Reads a native error. The caller takes over the reference of `cause`, which is 0 if there is none. */
function readError(
  stack: Stack,
  address: number,
): Record<'kind' | 'sentence' | 'backtrace', string> & { cause: number } {
  const fits = stack.host.tn_packed_error_read(stack.address, address) === 1
  const { words } = stack
  let end = 0
  const [kind = '', sentence = '', backtrace = ''] = [0, 1, 2].map((part) => {
    if (!fits) return stack.copyOfWords(4 + part, part).toString()
    const [start, size] = [end, Number(words[part])]
    end += size
    return stack.outText(size, start)
  })
  return { kind, sentence, backtrace, cause: Number(words[3]) }
}

/** Reverses the frames of a native backtrace. */
export function mostRecentLast(backtrace: string): string {
  return backtrace
    .split('\n')
    .filter((line) => line !== '')
    .toReversed()
    .join('\n')
}

/** Leaves the native error for a thrown value in a slot, with a reference. Never throws. */
export function putError(stack: Stack, slot: number, thrown: unknown): void {
  let cause = 0
  for (const each of withCauses(thrown).toReversed()) {
    putOne(stack, slot, each, cause)
    if (cause !== 0) stack.release(cause)
    cause = stack.pointer(slot)
  }
}

/** The most causes of an error that cross. A getter can make another cause each time. */
const MOST_CAUSES = 10_000

/** The thrown value and its causes, up to one that is native already, repeats, is not an error, or cannot be read. */
function withCauses(thrown: unknown): unknown[] {
  const chain = new Set<unknown>([thrown])
  try {
    let last = thrown
    while (last instanceof Error && !nativeErrors.has(last) && chain.size <= MOST_CAUSES) {
      // Read once, because a getter may return something else the next time.
      const { cause } = last
      if (!(cause instanceof Error) || chain.has(cause)) break
      last = cause
      chain.add(last)
    }
  } catch {
    // A getter of the program throws, so its value is unknown.
  }
  return [...chain]
}

/** Leaves one error in a slot. `cause` is the native error of its cause, or 0. */
function putOne(stack: Stack, slot: number, thrown: unknown, cause: number): void {
  const known = nativeErrors.get(thrown as Error)
  if (known !== undefined) {
    // The frames of JavaScript that the native error passed through.
    const frames = partsOf(thrown)[2]
    if (frames.length > 0) stack.host.tn_packed_error_append(known, addressOf(frames), frames.length)
    keepAlive(frames)
    stack.host.tn_packed_retain(known)
    stack.setPointer(slot, TypeIndex.Error, known)
    return
  }
  const parts = partsOf(thrown)
  const text = Buffer.concat(parts)
  const [at, start] = [stack.slotAddress(slot), addressOf(text.length === 0 ? Buffer.alloc(1) : text)]
  const [kind, sentence, frames] = parts
  const id = addForeign()
  const { tn_packed_error_create: create } = stack.host
  const status = create(at, start, kind.length, sentence.length, frames.length, id, cause)
  keepAlive(text)
  if (status !== 0) {
    foreignValues.delete(id)
    return
  }
  const address = stack.pointer(slot)
  // An earlier error may have had this address.
  drainReleased(stack)
  thrownHere.set(address, thrown)
  foreignValues.set(id, () => thrownHere.delete(address))
}

/** The kind, sentence and frames of a thrown value. Reading them may throw, because it may have getters or be a proxy. */
function partsOf(thrown: unknown): [kind: Buffer, sentence: Buffer, frames: Buffer] {
  try {
    const { kind, sentence } = kindOf(thrown)
    return [Buffer.from(kind), Buffer.from(sentence), Buffer.from(framesOf(thrown))]
  } catch {
    return [Buffer.from('RuntimeError'), Buffer.from('the thrown value cannot be read'), Buffer.alloc(0)]
  }
}

let isTracing = false

/**
 * Makes errors that this thread throws into native code carry the frames of their stack trace, which other threads and other
 * languages see as the error's backtrace. It is off by default, because formatting a stack trace takes ten times as long as the
 * rest of the crossing.
 *
 * @throws {ArgumentError} if `on` is not a boolean.
 * @example
 * traceErrors(true)
 */
export function traceErrors(on: boolean): void {
  if (typeof on !== 'boolean') throw wrongType('on', 'a boolean', on)
  isTracing = on
}

/** The frames of a thrown error in the form of tvm-ffi, the most recent first. Empty unless {@link traceErrors} is on. */
function framesOf(thrown: unknown): string {
  if (!isTracing || !(thrown instanceof Error) || thrown.stack === undefined) return ''
  const frames = [...thrown.stack.matchAll(/^ +at (?:(.+?) \()?(.+?):(\d+):\d+\)?$/gm)]
  const lines = frames.map(([, name, file, line]) => `  File "${file}", line ${line}, in ${name ?? '<anonymous>'}\n`)
  return lines.join('').slice(0, TEXT_SIZE)
}
