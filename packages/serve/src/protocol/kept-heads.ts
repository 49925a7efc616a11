import { Tensor, type TensorType } from '@tenon/core'
import type { AnsweredOutput, ChosenOutput, InferResponse } from './infer-response.ts'

interface Kept<Head> {
  readonly types: readonly TensorType[]
  readonly head: Head
}

/**
 * What a transport has encoded of its last answers besides the bytes of their outputs, by the outputs in the plan of their requests. It is the same
 * as long as the outputs have the same types.
 */
export class KeptHeads<Head> {
  readonly #all = new WeakMap<readonly ChosenOutput[], Kept<Head>>()

  /** The head of an earlier answer that is the same for this one. */
  find({ id, chosen, outputs }: InferResponse): Head | undefined {
    // The plan of a request with an id is not used again.
    const kept = id === undefined ? this.#all.get(chosen) : undefined
    return kept !== undefined && haveTypes(outputs, kept.types) ? kept.head : undefined
  }

  /** Keeps a head, unless it depends on more than the types of the outputs. @returns the head */
  add({ id, chosen, outputs }: InferResponse, head: Head): Head {
    const types = outputs.flatMap((output) => constantType(output) ?? [])
    if (id === undefined && types.length === outputs.length) this.#all.set(chosen, { types, head })
    return head
  }
}

/** The type that decides what a head says about an output. Undefined if its elements matter, too. */
function constantType({ chosen, tensor, written }: AnsweredOutput): TensorType | undefined {
  return chosen.isBinary && written === undefined && tensor instanceof Tensor ? tensor.type : undefined
}

function haveTypes(outputs: readonly AnsweredOutput[], types: readonly TensorType[]): boolean {
  // String tensors have no type.
  for (let i = 0; i < types.length; i++) if ((outputs[i]!.tensor as Tensor).type !== types[i]) return false
  return true
}
