/** Where a tensor's memory is. Types are DLPack's: 1 is the CPU, 2 CUDA. */
export interface Device {
  readonly type: number
  readonly id: number
}

/** Memory that the CPU reads and writes. */
export const cpu: Device = Object.freeze({ type: 1, id: 0 })
