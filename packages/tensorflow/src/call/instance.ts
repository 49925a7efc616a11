import { inspect } from 'node:util'
import { NativeError, type Tensor } from '@tenon/core'
import { addressOf, enterAll, exitAll, keepAlive, lastError } from '@tenon/core/internal'
import { operandTypes, resultTypes, type OperandTypes } from '../bind-operands.ts'
import type { ElementType } from '../element-types.ts'
import type { Host } from '../native/host.ts'
import { takeFailure } from '../native/read-failure.ts'
import type { AttributeValue, OperationDefinition } from '../operation.ts'

/** The facts of a kernel with values for all of its attributes. */
export interface InstanceFacts {
  readonly operation: string
  readonly path: string
  /** The numbers of the element types of all operands, which can be quantised. */
  readonly operandCodes: readonly number[]
  /** The element types of all results, those of lists one after another. */
  readonly results: readonly ElementType[]
  /** The numbers of tensors for the results. */
  readonly resultCounts: readonly number[]
}

/** Returns the facts of a kernel. @param counts the numbers of tensors for the operands @param values of all attributes */
export function factsOf(
  operation: OperationDefinition,
  path: string,
  counts: readonly number[],
  values: ReadonlyMap<string, AttributeValue>,
): InstanceFacts {
  const results = resultTypes(operation, values)
  const count = (types: OperandTypes): number => (Array.isArray(types) ? types.length : 1)
  return {
    operation: operation.name,
    path,
    operandCodes: operandTypes(operation, counts, values).map(({ code }) => code),
    results: results.flat() as ElementType[],
    resultCounts: results.map(count),
  }
}

/** A kernel with values for all of its attributes, which native code keeps. */
export class Instance {
  readonly facts: InstanceFacts
  readonly address: number
  readonly #host: Host
  #runs = 0
  #isDropped = false

  /**
   * Creates the instance.
   *
   * @param description as `encodeDescription()` writes it @param tensors the attributes whose memory it refers to
   * @throws {TensorFlowError} if the kernel refuses the attributes
   */
  constructor(host: Host, facts: InstanceFacts, description: Buffer, tensors: readonly Tensor[]) {
    this.#host = host
    this.facts = facts
    const [instance, failure] = [new BigUint64Array(1), new BigUint64Array(1)]
    enterAll(tensors)
    try {
      const status = host.entered.tn_tf_create(addressOf(description), addressOf(instance), addressOf(failure))
      if (failure[0] !== 0n) throw takeFailure(host, Number(failure[0]), facts.operation, facts.path)
      if (status !== 0) throw new NativeError(`creating ${facts.operation} failed with the status ${inspect(status)}`)
    } finally {
      exitAll(tensors)
      keepAlive(description)
    }
    this.address = Number(instance[0])
  }

  /** Marks the start of a run, during which the instance is not deleted. */
  enter(): void {
    this.#runs++
  }

  leave(): void {
    if (--this.#runs === 0 && this.#isDropped) this.#delete()
  }

  /** Deletes the instance now, or when its last run has ended. @throws {NativeError} if the deleter of the kernel threw */
  drop(): void {
    if (this.#isDropped) return
    this.#isDropped = true
    if (this.#runs === 0) this.#delete()
  }

  #delete(): void {
    if (this.#host.entered.tn_tf_delete(this.address) === 0) return
    throw new NativeError(`the deleter of ${this.facts.operation} threw a C++ exception: ${lastError()}`)
  }
}
