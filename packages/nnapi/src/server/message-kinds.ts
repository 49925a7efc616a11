import { operations } from '../wire/frame.ts'

/** The least and the most attachments of a message. Messages of other kinds have no attachments. */
export const ATTACHMENTS_OF: ReadonlyMap<number, readonly [least: number, most: number]> = new Map([
  [operations.HELLO, [0, 1]],
  [operations.REGISTER_POOL, [1, 1]],
  [operations.PREPARE, [0, 1]],
  [operations.SUPPORTED, [0, 1]],
  [operations.EXECUTE_FENCED, [1, 16]],
  [operations.JOIN, [1, 1]],
])

/** The operations that take next to no time, need no turn, and have no answer. */
export const NOTES: ReadonlySet<number> = new Set([
  operations.REGISTER_POOL,
  operations.RELEASE_POOL,
  operations.RELEASE_MODEL,
  operations.RELEASE_BUFFER,
])

/** The operations by which a client makes and releases models and buffers, on the thread that has connected first. */
export const OWNING: ReadonlySet<number> = new Set([
  operations.PREPARE,
  operations.ALLOCATE,
  operations.RELEASE_MODEL,
  operations.RELEASE_BUFFER,
  operations.JOIN,
])
