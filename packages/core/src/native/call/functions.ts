import { CONSTANTS } from '../../generated/layouts.ts'
import { WORDS } from './frame-layout.ts'
import { TWO_32, unsignedWords, words } from './frame.ts'
import { jobContexts } from './pending-jobs.ts'
import { shared } from './shared.ts'

/** A function of TypeScript that native code can enter. Its arguments and its result are in the frame. */
export type EnteredFunction = () => void

/**
 * The functions of this thread by their ids. The first six are those of the core: the end of a job, the report of an error
 * that no call can throw, the error of a call for which the native stack has no room, serving other threads later, running another
 * one for a job, and taking what native code has released.
 */
const functions = shared<(EnteredFunction | undefined)[]>('functions', () => [
  unset,
  reportError,
  failForStack,
  unset,
  runForJob,
  unset,
])
/** The ids of functions that native code can no longer enter. */
const free = shared<number[]>('free functions', () => [])

function unset(): void {
  throw new Error('no jobs were started')
}

/** Sets the function that the core runs if it has served other threads for long and there is more. */
export function setServeLater(run: EnteredFunction): void {
  functions[CONSTANTS.TN_FUNCTION_SERVE_LATER] = run
}

/** Sets the function that the core runs after native code has released a hold. */
export function setTakeReleased(run: EnteredFunction): void {
  functions[CONSTANTS.TN_FUNCTION_TAKE_RELEASED] = run
}

/** Sets the function that the core runs at the end of a job. */
export function setJobDone(run: EnteredFunction): void {
  functions[0] = run
}

/** Whether native code can enter a function that is not one of the core. */
export const hasFunctions = (): boolean => functions.length > CONSTANTS.TN_FUNCTION_TAKE_RELEASED + 1 + free.length

/** Runs the function that a thread calls for a job in the asynchronous context of the job's caller. */
function runForJob(): void {
  const run = functions[unsignedWords[WORDS.target + 1]!]!
  const inContext = jobContexts.get(unsignedWords[WORDS.target]!)
  if (inContext === undefined) run()
  else inContext(run)
}

/** The errors of functions: if `count` is larger after a native call than before, `last` is the cause. */
export const thrown: { count: number; last: unknown } = shared('thrown', () => ({ count: 0, last: undefined }))

/** A function, for the reason that `makeSteps()` of the calls has. */
function makeDispatch(): () => void {
  const [frameWords, table] = [words, functions]
  const { state: STATE, errno: ERRNO } = WORDS
  return () => {
    try {
      table[frameWords[STATE]!]!()
      frameWords[ERRNO] = 0
    } catch (error) {
      thrown.count++
      thrown.last = error
      frameWords[ERRNO] = 1
    }
  }
}

/** Runs the function that the frame selects. The only way from native code into TypeScript. Never throws. */
export const dispatch: () => void = makeDispatch()

/** The first error of a stub during a native call, which the call throws. */
const waiting = shared<{ first: { readonly error: unknown } | undefined }>('waiting', () => ({ first: undefined }))

/** Keeps the error of a stub for {@link takeThrown}, and throws it. */
export function keepThrown(error: unknown): never {
  waiting.first ??= { error }
  throw error
}

/** Returns the error that a native call is to throw. Without one, the stack was too full for {@link dispatch} to keep an error. */
export function takeThrown(): unknown {
  const { first } = waiting
  waiting.first = undefined
  return first === undefined ? new RangeError(STACK_IS_FULL) : first.error
}

/** Throws an error as an uncaught exception, because the callback was called by another thread. */
function reportError(): void {
  const error = waiting.first === undefined ? thrown.last : takeThrown()
  queueMicrotask(() => {
    throw error
  })
}

const STACK_IS_FULL = 'the stack of native code is full: calls and callbacks are nested too deeply'

/** The call throws what JavaScript throws when its own stack is full. */
function failForStack(): never {
  keepThrown(new RangeError(STACK_IS_FULL))
}

/** Gives a function an id, by which native code enters it. */
export function addFunction(run: EnteredFunction): number {
  const id = free.pop() ?? functions.length
  functions[id] = run
  return id
}

/** Frees an id that native code can no longer use. */
export function removeFunction(id: number): void {
  functions[id] = undefined
  free.push(id)
}

/** Reads an address from two words of the frame. */
export function addressAt(word: number): number {
  return unsignedWords[word]! + unsignedWords[word + 1]! * TWO_32
}

/** Writes an address into two words of the frame. */
export function setAddress(word: number, address: number): void {
  words[word] = address
  words[word + 1] = address / TWO_32
}
