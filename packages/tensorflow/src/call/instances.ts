import type { Tensor } from '@tenon/core'
import { Cleaner, type Gate } from '@tenon/core/internal'
import type { Host } from '../native/host.ts'
import { areSame } from './operand.ts'
import { Frame, type OperandType } from './frame.ts'
import { Instance, type InstanceFacts } from './instance.ts'

/** The most frames of one instance. */
const MOST_FRAMES = 8

interface Entry {
  readonly key: string
  readonly instance: Instance
  /** Frames that calls with these attributes can use, the newest at the end. */
  readonly frames: Frame[]
}

/** The instances of a kernel. */
export class Instances {
  readonly #host: Host
  readonly #limit: number
  /** The one that was used last is at the end. */
  readonly #entries: Entry[] = []

  /** @param limit the greatest number of instances that are kept */
  constructor(host: Host, limit: number) {
    this.#host = host
    this.#limit = limit
  }

  /** Returns a frame that no run uses, or undefined. */
  findFrame(operands: readonly OperandType[], snapshot: readonly unknown[] | undefined): Frame | undefined {
    for (let i = this.#entries.length - 1; i >= 0; i--) {
      const frame = this.#entries[i]!.frames.find(
        (one) => !one.running && !one.isKept && areSame(one.snapshot, snapshot) && areAlike(one.operands, operands),
      )
      if (frame === undefined) continue
      this.#entries.push(...this.#entries.splice(i, 1))
      return frame
    }
    return undefined
  }

  /**
   * Makes a frame of an instance, which is created unless it is there. Instances whose attributes have memory are not found again.
   *
   * @throws {TensorFlowError} if the kernel refuses the attributes
   */
  makeFrame(
    facts: InstanceFacts,
    description: Buffer,
    tensors: readonly Tensor[],
    operands: readonly OperandType[],
    snapshot: readonly unknown[] | undefined,
  ): Frame {
    const key = tensors.length > 0 ? '' : description.toString('latin1')
    const known = key === '' ? -1 : this.#entries.findIndex((entry) => entry.key === key)
    const [entry] = known === -1 ? [] : this.#entries.splice(known, 1)
    const { instance, frames }: Omit<Entry, 'key'> = entry ?? {
      instance: new Instance(this.#host, facts, description, tensors),
      frames: [],
    }
    this.#entries.push({ key, instance, frames })
    const frame = new Frame(instance, operands, tensors.length > 0 ? undefined : snapshot)
    // The frames that run are not found, so the oldest is one that nobody needs.
    if (frames.push(frame) > MOST_FRAMES) frames.shift()
    while (this.#entries.length > this.#limit) this.#entries.shift()!.instance.drop()
    return frame
  }

  /** Deletes all instances, each when its last run has ended. @throws the first error of a deleter */
  clear(): void {
    let failure: { readonly error: unknown } | undefined
    for (const { instance } of this.#entries.splice(0)) {
      try {
        instance.drop()
      } catch (error) {
        failure ??= { error }
      }
    }
    if (failure !== undefined) throw failure.error
  }
}

function areAlike(a: readonly OperandType[], b: readonly OperandType[]): boolean {
  return a.length === b.length && a.every(({ type, isString }, i) => type === b[i]!.type && isString === b[i]!.isString)
}

/** Deletes the instances of kernels that were collected. */
const collected = new Cleaner<Instances>((instances) => instances.clear())

/** Deletes the instances when the kernel is collected, and when its library is closed. */
export function clearWith(kernel: object, gate: Gate, instances: Instances): void {
  collected.watch(kernel, instances)
  const weak = new WeakRef(instances)
  gate.owner.addCloseAction(() => weak.deref()?.clear())
}
