import { LoadError } from '@tenon/core'
import { coreLibrary } from '@tenon/core/internal'
import type { Kernels } from './kernels.ts'
import { nativeKernels } from './native.ts'
import { scriptKernels } from './script.ts'

let chosen: Kernels | undefined

/** The kernels of this process: those in C, or in JavaScript where the C core can't be loaded. */
export function kernels(): Kernels {
  return (chosen ??= choose())
}

function choose(): Kernels {
  try {
    coreLibrary()
    return nativeKernels
  } catch (error) {
    if (error instanceof LoadError) return scriptKernels
    throw error
  }
}
