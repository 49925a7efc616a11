import type { Hold, TenonError } from '@tenon/core'
import { Cleaner, CONSTANTS, type Gate } from '@tenon/core/internal'
import type { CallTarget } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'
import { currentFunctions } from '../native/current-call.ts'
import { readUntypedFailure } from '../native/read-failure.ts'
import { layOutUntyped, type UntypedCall } from '../native/untyped-memory.ts'
import type { CallShape } from '../shape/call-shape.ts'
import type { DeviceStream } from './call-resources.ts'

/** Releases the streams of calls that were dropped without being closed. */
const dropped = new Cleaner<Hold>((hold) => hold.release())

/**
 * Lays out an untyped call. A failure is read, and its memory freed, right after the run that ended with it.
 *
 * @param stream the stream that the call holds open, if it is an object.
 */
export function openUntypedTarget(
  name: string,
  gate: Gate,
  shape: CallShape,
  call: UntypedCall,
  stream?: DeviceStream,
): CallTarget {
  const extend = (): CallMemory => layOutUntyped(shape, call)
  const own = extend()
  const hold = stream?.gate?.owner.acquire()
  const target: CallTarget = {
    stream,
    name,
    kind: CONSTANTS.TN_XLA_JOB_UNTYPED,
    gate,
    execute: currentFunctions().executeUntyped,
    memory: own,
    extend,
    failure: (memory: CallMemory, status: number, batchIndex?: number): TenonError =>
      readUntypedFailure(memory.address, status, name, call.onDevice, batchIndex),
    close(): void {
      dropped.forget(target)
      hold?.release()
    },
  }
  if (hold !== undefined) dropped.watch(target, hold, target)
  return target
}
