import { convolutionKernels } from './convolution.ts'
import { elementwiseKernels } from './elementwise.ts'
import type { KernelRegistry } from './kernel.ts'
import { layoutKernels } from './layout.ts'

/**
 * The operations of the reference CPU driver: float32, and 8-bit quantized where NNAPI has it, NHWC.
 *
 * @example
 * const driver = localDriver({ kernels: new Map([...cpuKernels, ['NEGATE', negate]]) })
 */
export const cpuKernels: KernelRegistry = new Map([...elementwiseKernels, ...layoutKernels, ...convolutionKernels])
