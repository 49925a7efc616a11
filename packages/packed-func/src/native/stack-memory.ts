import { addressOf, bufferOver, CONSTANTS, newArrayBuffer } from '@tenon/core/internal'
import { MemoryError } from '../errors/error-kinds.ts'
import type { PackedFunctions } from './entered.ts'

const { TN_PACKED_STACK_SIZE: SIZE } = CONSTANTS

/** The memory of an argument stack, which begins at an offset of a buffer. */
interface StackMemory {
  readonly address: number
  readonly buffer: ArrayBuffer
  readonly start: number
}

/** Opens a stack in memory of native code. */
export function openMemory({ tn_packed_open: open }: PackedFunctions): StackMemory {
  const out = new BigUint64Array(1)
  if (open(addressOf(out)) !== 0) throw noMemory()
  const address = Number(out[0])
  return { address, buffer: bufferOver(address, CONSTANTS.TN_PACKED_MEMORY_SIZE), start: 0 }
}

/** Opens a stack in a buffer of JavaScript, which the caller must keep until the environment has ended. */
export function openOwnMemory({ tn_packed_open_in: open }: PackedFunctions): StackMemory {
  const buffer = newArrayBuffer(CONSTANTS.TN_PACKED_MEMORY_SIZE, SIZE)
  const first = addressOf(buffer)
  const start = -first & (SIZE - 1)
  const address = first + start
  const out = new BigUint64Array(1)
  if (open(address, addressOf(out)) !== 0 || Number(out[0]) !== address) throw noMemory()
  return { address, buffer, start }
}

const noMemory = (): MemoryError => new MemoryError('out of memory for an argument stack')
