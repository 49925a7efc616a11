import type { KernelSignature } from '@tenon/core'
import { HOST_DEVICES } from './choose-kernel.ts'
import { findDefinition, type OperationText } from './definition-sources.ts'
import type { RegisteredKernel, Registrations } from './registration.ts'
import { operationSignature, unsupportedReason } from './signature.ts'

/** An operation of which a library registers kernels. */
export interface ListedOperation {
  readonly name: string
  /** Undefined if no definition of the operation can be read. */
  readonly signature: KernelSignature | undefined
  /** The reason why the operation cannot be called without an option; undefined if it can. */
  readonly reason: string | undefined
  readonly kernels: readonly RegisteredKernel[]
}

/** Whether a kernel of an operation runs in host memory without an option. */
export const isOnHost = ({ kernels }: ListedOperation): boolean =>
  kernels.some(({ device }) => HOST_DEVICES.some((host) => host === device))

/**
 * Lists the operations of which a library registers kernels, sorted by name.
 *
 * @param sidecarOf returns the definition of an operation in the sidecar
 */
export function listOperations(
  { kernels, definitions }: Registrations,
  sidecarOf: (name: string) => OperationText | undefined,
): ListedOperation[] {
  const names = new Set(kernels.map(({ operation }) => operation))
  return [...names].toSorted().map((name) => {
    const library = definitions.find((one) => one.name === name)
    const { operation, source, unreadable } = findDefinition(name, { library, sidecar: sidecarOf(name) })
    const isFound = operation !== undefined && source !== 'none'
    return {
      name,
      signature: isFound ? operationSignature(operation, source) : undefined,
      reason: isFound
        ? unsupportedReason(operation)
        : (unreadable[0]?.reason ?? 'no definition of the operation is known'),
      kernels: kernels.filter((kernel) => kernel.operation === name),
    }
  })
}
