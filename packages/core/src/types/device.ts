import { describe } from '../errors/describe.ts'
import { ArgumentError } from '../errors/kinds.ts'

/** Where a tensor's memory is. Types are DLPack's: 1 is the CPU, 2 CUDA. */
export interface Device {
  readonly type: number
  readonly id: number
}

/** Memory that the CPU reads and writes. */
export const cpu: Device = Object.freeze({ type: 1, id: 0 })

/** A device of a caller, checked and read once: both numbers have 32 bits, as in DLPack. @throws {ArgumentError} if it is none. */
export function checkDevice(device: unknown): Device {
  const { type, id } = (device ?? {}) as Partial<Device>
  if (isInt32(type) && isInt32(id) && type > 0 && id >= 0) return Object.freeze({ type, id })
  throw new ArgumentError(`device must have a type of DLPack and an id, got ${describe(device)}`, {
    hint: 'write { type: 2, id: 0 } for the first CUDA device; memory of the CPU needs no device.',
  })
}

function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value
}
