import type { Offered } from '../contestant.ts'

/** The operations that can cross to another thread or process as a name and values. */
export const remoteOperations = [
  'nothing',
  'addOne',
  'sum',
  'fill',
  'keep',
  'kept',
  'length',
  'text',
  'scale',
  'writeNull',
] as const

/** A call as a message. */
export interface RemoteCall {
  readonly operation: (typeof remoteOperations)[number] | 'spin'
  readonly values: readonly unknown[]
}

/** Returns the operations, each of which sends a call and waits for its result. */
export function remotely(send: (call: RemoteCall) => Promise<unknown>): Offered {
  const calls = remoteOperations.map((operation) => [
    operation,
    (...values: unknown[]): Promise<unknown> => send({ operation, values }),
  ])
  return {
    ...(Object.fromEntries(calls) as Offered),
    sumLater: (...values) => send({ operation: 'sum', values }),
  }
}
