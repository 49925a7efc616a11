import { addressOf, keepAlive } from '@tenon/core/internal'
import { openStack, type Stack } from '../native/stack.ts'
import { TypeIndex } from '../native/type-index.ts'
import { drainReleased, foreignValues } from '../native/foreign.ts'
import { kindOf, makeError } from './error-kinds.ts'
import { framesOf } from './frames.ts'

/*
 * An error that crosses the boundary twice comes back as the object it was. One that JavaScript threw is kept while its
 * native counterpart lives; one that native code raised holds its native counterpart while it lives. Both are found by
 * the native object's address, which is not used again before the release has been heard of.
 */

/** Native errors that stand for errors of JavaScript. */
const thrownHere = new Map<number, unknown>()

/** Errors of JavaScript that stand for native ones. */
const raisedThere = new Map<number, WeakRef<Error>>()
const nativeErrors = new WeakMap<Error, number>()
const collected = new FinalizationRegistry<number>((address) => {
  if (raisedThere.get(address)?.deref() === undefined) raisedThere.delete(address)
  openStack().host.release(address)
})

/** Takes the native error that a failed call left in a slot: what is to be thrown. */
export function takeError(stack: Stack, slot: number): unknown {
  const address = stack.pointer(slot)
  if (address === 0) return makeError('RuntimeError', 'a native function failed and raised no error', {})
  return errorAt(stack, address)
}

/** The kind and text of the native error in a slot, which is given back. */
export function takeErrorText(stack: Stack, slot: number): { kind: string; sentence: string } {
  const address = stack.pointer(slot)
  if (address === 0) return { kind: 'RuntimeError', sentence: 'a native function failed and raised no error' }
  const { kind, sentence, cause } = readError(stack, address)
  if (cause !== 0) stack.host.release(cause)
  stack.host.release(address)
  return { kind, sentence }
}

/** The JavaScript error of a native one; takes over a reference. */
export function errorAt(stack: Stack, address: number): unknown {
  drainReleased(stack)
  const known = thrownHere.has(address)
    ? { error: thrownHere.get(address) }
    : { error: raisedThere.get(address)?.deref() }
  if (thrownHere.has(address) || known.error !== undefined) {
    stack.host.release(address)
    return known.error
  }
  const { kind, sentence, backtrace, cause } = readError(stack, address)
  const error = makeError(kind, sentence, {
    nativeBacktrace: mostRecentLast(backtrace),
    ...(cause === 0 ? {} : { cause: errorAt(stack, cause) }),
  })
  raisedThere.set(address, new WeakRef(error))
  nativeErrors.set(error, address)
  collected.register(error, address)
  return error
}

interface ErrorText {
  readonly kind: string
  readonly sentence: string
  readonly backtrace: string
  /** A native error with a reference for the reader, or 0. */
  readonly cause: number
}

function readError(stack: Stack, address: number): ErrorText {
  const fits = stack.host.readError(stack.address, address) === 1
  const { words } = stack
  const [kindSize, sentenceSize, backtraceSize] = [Number(words[0]), Number(words[1]), Number(words[2])]
  const cause = Number(words[3])
  if (!fits) {
    const [kindAt, sentenceAt, backtraceAt] = [Number(words[4]), Number(words[5]), Number(words[6])]
    return {
      kind: stack.copyOf(kindAt, kindSize).toString(),
      sentence: stack.copyOf(sentenceAt, sentenceSize).toString(),
      backtrace: stack.copyOf(backtraceAt, backtraceSize).toString(),
      cause,
    }
  }
  return {
    kind: stack.outText(kindSize),
    sentence: stack.outText(sentenceSize, kindSize),
    backtrace: backtraceSize === 0 ? '' : stack.outText(backtraceSize, kindSize + sentenceSize),
    cause,
  }
}

/** Native backtraces begin with the most recent call; each entry is a line, and lines that belong to it are indented. */
function mostRecentLast(backtrace: string): string {
  return backtrace
    .split('\n')
    .filter((line) => line !== '')
    .toReversed()
    .join('\n')
}

/** Leaves the native error for something that was thrown in a slot, with a reference of its own. Doesn't throw. */
export function putError(stack: Stack, slot: number, thrown: unknown): void {
  let cause = 0
  for (const each of withCauses(thrown).toReversed()) {
    putOne(stack, slot, each, cause)
    if (cause !== 0) stack.host.release(cause)
    cause = stack.pointer(slot)
  }
}

/** What was thrown and its causes that are errors, as far as they are not native ones already, in a circle or not to be read. */
function withCauses(thrown: unknown): unknown[] {
  const chain = new Set<unknown>([thrown])
  try {
    let last = thrown
    while (last instanceof Error && !nativeErrors.has(last) && last.cause instanceof Error && !chain.has(last.cause)) {
      last = last.cause
      chain.add(last)
    }
  } catch {
    // A getter of the program's that throws hides what it would have told.
  }
  return [...chain]
}

/** Leaves one error in a slot, with the native error of its cause or 0. */
function putOne(stack: Stack, slot: number, thrown: unknown, cause: number): void {
  const known = typeof thrown === 'object' && thrown !== null ? nativeErrors.get(thrown as Error) : undefined
  if (known !== undefined) {
    appendFrames(stack, known, thrown)
    stack.host.retain(known)
    stack.setPointer(slot, TypeIndex.Error, known)
    return
  }
  const parts = partsOf(thrown)
  const text = Buffer.concat(parts)
  const id = foreignValues.add()
  const status = stack.host.createError(
    stack.slotAddress(slot),
    addressOf(text.length === 0 ? Buffer.alloc(1) : text),
    parts[0].length,
    parts[1].length,
    parts[2].length,
    id,
    cause,
  )
  keepAlive(text)
  if (status !== 0) {
    foreignValues.forget(id)
    return
  }
  const address = stack.pointer(slot)
  // An earlier error may have had this address.
  drainReleased(stack)
  thrownHere.set(address, thrown)
  foreignValues.onRelease(id, () => thrownHere.delete(address))
}

/** Tells a native error the frames that it came through here. */
function appendFrames(stack: Stack, address: number, thrown: unknown): void {
  const frames = partsOf(thrown)[2]
  if (frames.length > 0) stack.host.appendBacktrace(address, addressOf(frames), frames.length)
  keepAlive(frames)
}

/** Kind, sentence and frames. What was thrown may be anything: a getter of it, or a proxy, can throw as well. */
function partsOf(thrown: unknown): [kind: Buffer, sentence: Buffer, frames: Buffer] {
  try {
    const { kind, sentence } = kindOf(thrown)
    return [Buffer.from(kind), Buffer.from(sentence), Buffer.from(framesOf(thrown))]
  } catch {
    return [Buffer.from('RuntimeError'), Buffer.from('what was thrown has no text that can be read'), Buffer.alloc(0)]
  }
}
