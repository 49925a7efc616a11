import { NativeError } from '../../errors/kinds.ts'
import { CONSTANTS } from '../../generated/layouts.ts'
import { lastError } from '../core-library.ts'
import { WORDS } from './frame-layout.ts'
import { words } from './frame.ts'
import { takeThrown } from './functions.ts'

/** Returns what a call that has failed throws: the error of a function of TypeScript, a callback that was refused, or a C++ exception. */
export function callFailure(name: string): unknown {
  const state = words[WORDS.state]
  if (state === CONSTANTS.TN_CALL_THROWN) return takeThrown()
  if (state === CONSTANTS.TN_CALL_REFUSED) {
    return new NativeError(`${name} called a function of TypeScript that did not run: ${lastError()}`, {
      hint: 'Keep the event loop of this thread free while the call runs, or give the callback the option foreignThread: "wait".',
    })
  }
  if (state === CONSTANTS.TN_CALL_BROKEN) {
    return new NativeError(`${name} is not critical, because it ${lastError()}`, {
      hint: 'Link the function without critical: true.',
    })
  }
  if (state === CONSTANTS.TN_CALL_ENDED) {
    return new NativeError(`${name} did not return: ${lastError()}`, {
      hint: 'Let the function return, and end only threads that it has started.',
    })
  }
  return new NativeError(`${name} threw a C++ exception: ${lastError()}`)
}
