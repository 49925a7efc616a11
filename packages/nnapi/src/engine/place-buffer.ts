import type { KernelOperand } from '../kernels/kernel.ts'
import type { PlacedBuffer } from './placed-buffer.ts'

/** Places a device buffer; see the options of drivers. */
export type PlaceBuffer = (operand: KernelOperand, byteSize: number) => PlacedBuffer | undefined
