import { describe } from '../errors/describe.ts'
import { ArgumentError } from '../errors/kinds.ts'

/** The device to which a tensor's memory belongs. The types are DLPack's, so 1 is the CPU and 2 is CUDA. */
export interface Device {
  readonly type: number
  readonly id: number
}

/** The CPU, which reads and writes the memory directly. */
export const cpu: Device = Object.freeze({ type: 1, id: 0 })

/** Reads the device once. Both numbers have 32 bits. @throws {ArgumentError} if it is not a device. */
export function checkDevice(device: unknown): Device {
  const { type, id } = (device ?? {}) as Partial<Device>
  if (isInt32(type) && isInt32(id) && type > 0 && id >= 0) return Object.freeze({ type, id })
  throw new ArgumentError(`device must have a type of DLPack and an id, got ${describe(device)}`, {
    hint: 'Write { type: 2, id: 0 } for the first CUDA device. Leave it out for memory of the CPU.',
  })
}

function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value
}
