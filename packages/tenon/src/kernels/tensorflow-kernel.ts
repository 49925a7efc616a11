import { ArgumentError, type KernelSignature, type NativeLibrary } from '@tenon/core'
import type { Kernel } from '@tenon/custom-call'
import {
  isOnHost,
  listOperations,
  openKernel,
  type OperationText,
  type Registrations,
  type TensorFlowKernelOptions,
} from '@tenon/tensorflow/internal'
import { unknownSignature } from '../signatures/unknown-signature.ts'
import { readKernelOptions, type KernelOptions } from './kernel-options.ts'
import { loadStringClass } from './string-class.ts'

/** Whether a library has registered a kernel of a name in TensorFlow's C API. */
export const isTensorFlow = ({ kernels }: Registrations, name: string): boolean =>
  kernels.some(({ operation }) => operation === name)

/**
 * Opens a kernel that a library has registered in TensorFlow's C API.
 *
 * @param sidecar the definition of the operation beside the library
 * @throws {ArgumentError} if an option is one of other conventions. @throws {UnsupportedError} if the operation needs TensorFlow itself
 */
export function tensorFlowKernel(
  { path, gate }: NativeLibrary,
  registrations: Registrations,
  name: string,
  options: KernelOptions | undefined,
  sidecar: OperationText | undefined,
): Kernel<never, never> {
  const kernel = openKernel({ path, gate, registrations, sidecar }, name, readTensorFlowOptions(name, options))
  loadStringClass(kernel.signature)
  return kernel as unknown as Kernel<never, never>
}

/** Reads the options of a kernel. @throws {ArgumentError} if an option is one of other conventions */
export function readTensorFlowOptions(name: string, options: KernelOptions | undefined): TensorFlowKernelOptions {
  const { definition, device, label, frames, ...others } = readKernelOptions(options)
  for (const [option, value] of Object.entries(others)) {
    if (value === undefined || (option === 'convention' && value === 'tensorflow')) continue
    throw new ArgumentError(`${option} must not be given to ${name}, which is a kernel of TensorFlow's C API`)
  }
  return { definition, device, label, frames }
}

/** The signatures of the operations of which a library has registered kernels for the CPU. */
export function tensorFlowSignatures(
  registrations: Registrations,
  sidecarOf: (name: string) => OperationText | undefined,
): readonly KernelSignature[] {
  const listed = listOperations(registrations, sidecarOf).filter(isOnHost)
  return listed.map(({ name, signature }) => signature ?? unknownSignature(name, 'tensorflow'))
}
