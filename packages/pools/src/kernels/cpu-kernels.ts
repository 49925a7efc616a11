import { convolutionKernels } from './convolution.ts'
import { elementwiseKernels } from './elementwise.ts'
import type { KernelRegistry } from './kernel.ts'
import { layoutKernels } from './layout.ts'

/**
 * The operations of the reference CPU driver: float32, float16 and 8-bit quantized, whole numbers where NNAPI has them; images
 * are NHWC. The package's README lists them with their types.
 *
 * @example
 * const driver = localDriver({ kernels: new Map([...cpuKernels, ['NEGATE', negate]]) })
 */
export const cpuKernels: KernelRegistry = new Map([...elementwiseKernels, ...layoutKernels, ...convolutionKernels])
