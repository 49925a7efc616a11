import type { Hold, TenonError } from '@tenon/core'
import type { Gate } from '@tenon/core/internal'
import { CallKind, type CallTarget } from '../call/call-target.ts'
import type { CallMemory } from '../native/call-memory.ts'
import { currentFunctions } from '../native/current-call.ts'
import { readUntypedFailure } from '../native/read-failure.ts'
import { layOutUntyped, type UntypedCall } from '../native/untyped-memory.ts'
import type { CallShape } from '../shape/call-shape.ts'
import type { DeviceStream } from './call-resources.ts'

/** Lets go of the streams of calls that were dropped without being closed. */
const dropped = new FinalizationRegistry<Hold>((hold) => hold.release())

/**
 * Lays out an untyped call. A failure is read, and its memory freed, right after the run that ended with it.
 *
 * @param stream what the call holds open, if it is an object.
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
    kind: CallKind.untyped,
    gate,
    execute: currentFunctions().executeUntyped,
    memory: own,
    extend,
    failure: (memory: CallMemory, status: number, batchIndex?: number): TenonError =>
      readUntypedFailure(memory.address, status, { name, onDevice: call.onDevice, batchIndex }),
    close(): void {
      dropped.unregister(target)
      hold?.release()
    },
  }
  if (hold !== undefined) dropped.register(target, hold, target)
  return target
}
