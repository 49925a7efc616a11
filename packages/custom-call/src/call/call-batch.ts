import { ArgumentError } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import type { RemoteCallee, RemoteRun } from './callee.ts'
import type { FrameCall } from './frames.ts'

/** A call of a batch whose arguments were read. */
interface BegunCall<Call extends FrameCall> {
  readonly run: RemoteRun<Call>
  /** Called once, after the run. */
  end(): void
  /** Returns the value of the call after the run. */
  value(): unknown
}

/** More calls than any queue has, and few enough to copy the list of them. */
const MOST_CALLS = 2 ** 20

/**
 * Makes the function that runs several calls of a kernel. Each settles on its own, also if its arguments are refused.
 *
 * @param remote undefined for a kernel of this process. @param begin reads the arguments of one call, and prepares it.
 */
export function callBatch<Call extends FrameCall>(
  name: string,
  remote: RemoteCallee<Call> | undefined,
  begin: (args: readonly unknown[]) => BegunCall<Call>,
): (calls: unknown) => Promise<PromiseSettledResult<unknown>[]> {
  const hint = `Write ${name}.batch([[x], [y]]), with the arguments of each call in an array.`

  const beginOne = (args: unknown, index: number): BegunCall<Call> | PromiseRejectedResult => {
    try {
      if (Array.isArray(args)) return begin(args)
      throw wrongType(`call ${index} of ${name}.batch()`, 'an array of arguments', args, hint)
    } catch (reason) {
      return { status: 'rejected', reason }
    }
  }

  return async (calls) => {
    if (remote === undefined) {
      throw new ArgumentError(`${name} must be called alone, because it runs in this process`, {
        hint: 'Bind prepared calls with batch().',
      })
    }
    if (!Array.isArray(calls) || calls.length > MOST_CALLS) {
      throw wrongType(`the calls of ${name}.batch()`, `an array of at most ${MOST_CALLS} calls`, calls, hint)
    }
    const all = Array.from(calls as unknown[], beginOne)
    const begun = all.filter((one): one is BegunCall<Call> => !('status' in one))
    try {
      const settled = await remote.runBatch(begun.map(({ run }) => run))
      let next = 0
      return all.map((one): PromiseSettledResult<unknown> => {
        if ('status' in one) return one
        const result = settled[next++]!
        return result.status === 'rejected' ? result : { status: 'fulfilled', value: one.value() }
      })
    } finally {
      for (const { end } of begun) end()
    }
  }
}
