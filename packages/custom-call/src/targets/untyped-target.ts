import type { TenonError } from '@tenon/core'
import type { Gate } from '@tenon/core/internal'
import type { CallTarget } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'
import { coreFunctions } from '../native/core-functions.ts'
import { readUntypedFailure } from '../native/read-failure.ts'
import { layOutUntyped, type UntypedCall } from '../native/untyped-memory.ts'
import type { CallShape } from '../shape/call-shape.ts'

/** Lays out an untyped call. A failure is read, and its memory freed, right after the run that ended with it. */
export function openUntypedTarget(name: string, gate: Gate, shape: CallShape, call: UntypedCall): CallTarget {
  const extend = (): CallMemory => layOutUntyped(shape, call)
  return {
    name,
    isTyped: false,
    gate,
    execute: coreFunctions().executeUntyped,
    memory: extend(),
    extend,
    failure: (memory: CallMemory, status: number): TenonError =>
      readUntypedFailure(memory.address, status, name, call.onDevice),
    close(): void {},
  }
}
