import type { Memory } from '../contestant.ts'

/** Reads and writes of memory that a contestant shows as a Uint8Array. */
export const accessTo = (bytes: Uint8Array): Pick<Memory, 'read' | 'write'> => ({
  read: (index) => bytes[index],
  write: (index, value) => (bytes[index] = value),
})
