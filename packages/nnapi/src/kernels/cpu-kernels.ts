import { convolutionKernels } from './convolution.ts'
import { elementwiseKernels } from './elementwise.ts'
import type { KernelRegistry } from './kernel.ts'
import { layoutKernels } from './layout.ts'
import { reduceKernels } from './reduce.ts'
import { resizeKernels } from './resize.ts'

/**
 * The operations of the reference CPU driver for float32, float16, 8-bit quantized whole numbers and booleans. The
 * README of the package lists the operations with their types.
 *
 * @example
 * const driver = localDriver({ kernels: new Map([...cpuKernels, ['NEGATE', negate]]) })
 */
export const cpuKernels: KernelRegistry = new Map([
  ...elementwiseKernels,
  ...layoutKernels,
  ...reduceKernels,
  ...resizeKernels,
  ...convolutionKernels,
])
