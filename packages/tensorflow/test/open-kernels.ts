import type { Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { onTestFinished } from 'vitest'
import { openKernel, type TensorFlowKernel, type TensorFlowKernelOptions } from '../src/kernel.ts'
import { TensorFlowLibrary } from '../src/library.ts'
import { readRegistrations } from '../src/native/read-registrations.ts'
import { openHost } from '../src/native/host.ts'
import { addressOf } from '@tenon/core/internal'

/** Opens the library of test kernels, which is closed after the test. */
export function openTestLibrary(): TensorFlowLibrary {
  const library = TensorFlowLibrary.open(kernelLibrary('tf_kernels'))
  onTestFinished(() => {
    if (library.native.isAlive) library.close()
  })
  return library
}

/** Opens a test kernel. */
export function openTestKernel(name: string, options?: TensorFlowKernelOptions): TensorFlowKernel {
  const { native } = openTestLibrary()
  const registrations = readRegistrations(native)
  return openKernel({ path: native.path, gate: native.gate, registrations }, name, options)
}

/** The instances that native code has, and the memories of tensors that it owns. */
export function counts(): readonly number[] {
  const out = new BigUint64Array(2)
  openHost().functions.tn_tf_counts(addressOf(out))
  return Array.from(out, Number)
}

/** Returns the elements of a result. */
export const valuesOf = (result: unknown): unknown[] => (result as Tensor).toArray()
