import { wrongType } from '@tenon/core/internal'
import { closeDescriptor, leaveDescriptor } from '@tenon/pools/internal'
import type { Model } from '../model/model.ts'
import type { OperandType } from '../model/operand-types.ts'
import type { Backend, BackendBuffer, BackendModel } from './driver.ts'

/**
 * The right of another thread of this process to use a driver, as a plain object that can be posted to it. `attachDriver()` takes it there, once.
 * Made by `driver.share()`.
 */
export interface DriverHandle {
  readonly kind: 'tenon.driver'
  /** The socket to the driver. */
  readonly socket: number
  /** 0 until a thread has taken the socket over, or the driver was closed. */
  readonly state: SharedArrayBuffer
  readonly models: Readonly<Record<string, { readonly id: number; readonly model: Model }>>
  readonly buffers: Readonly<
    Record<string, { readonly id: number; readonly type: OperandType; readonly dimensions: readonly number[] }>
  >
}

interface SharedModel {
  readonly model: Model
  readonly backend: BackendModel
}

interface SharedBuffer {
  readonly backend: BackendBuffer
  readonly type: OperandType
  readonly dimensions: readonly number[]
}

/** The handles of a driver. */
export class DriverHandles {
  readonly #handles: DriverHandle[] = []

  /** Opens a channel for another thread. @throws {PoolsError} */
  async make(
    backend: Backend,
    models: Readonly<Record<string, SharedModel>>,
    buffers: Readonly<Record<string, SharedBuffer>>,
  ): Promise<DriverHandle> {
    const [modelEntries, bufferEntries] = [Object.entries(models), Object.entries(buffers)]
    const shared = await backend.share(
      modelEntries.map(([, prepared]) => prepared.backend),
      bufferEntries.map(([, buffer]) => buffer.backend),
    )
    // The thread that attaches closes it, which may be later than this thread ends.
    leaveDescriptor(shared.socket)
    const handle: DriverHandle = {
      kind: 'tenon.driver',
      socket: shared.socket,
      state: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
      models: Object.fromEntries(
        modelEntries.map(([name, { model }], i) => [name, { id: shared.models[i]!, model: withoutMemory(model) }]),
      ),
      buffers: Object.fromEntries(
        bufferEntries.map(([name, { type, dimensions }], i) => [name, { id: shared.buffers[i]!, type, dimensions }]),
      ),
    }
    this.#handles.push(handle)
    return handle
  }

  /** Closes the sockets that no thread has taken. */
  withdraw(): void {
    for (const handle of this.#handles.splice(0)) if (claim(handle)) closeDescriptor(handle.socket)
  }
}

/** Takes the socket of a handle over. Returns false if a thread has it already, or the driver was closed. */
export function claim({ state }: DriverHandle): boolean {
  return Atomics.compareExchange(new Int32Array(state), 0, 0, 1) === 0
}

/** Returns the values of named parts. @throws {ArgumentError} for other values than those of a class */
export function valuesOf<T>(
  named: Readonly<Record<string, T>>,
  name: string,
  kind: abstract new (...args: never) => T,
): readonly T[] {
  if (typeof named !== 'object' || named === null) throw wrongType(name, 'an object with names', named)
  const all = Object.values(named)
  const other = all.find((part) => !(part instanceof kind))
  if (other !== undefined) throw wrongType(name, `an object whose values are each a ${kind.name}`, other)
  return all
}

/** The shapes of a model, whose memory stays with the thread that prepared it. */
function withoutMemory({ main }: Model): Model {
  return { main, referenced: [], operandValues: new Uint8Array(0), pools: [] }
}
