import { isBehind, type InferPlan } from './infer-plan.ts'

/** The most plans of a model. */
const MOST = 64

/** The most bytes of a head whose plan is kept. */
const LONGEST = 1024

/**
 * The plans of the requests of a model that came last, by their heads: all that they have before the elements of their tensors. A plan is kept if a
 * request with the same head is likely to follow: all elements are behind the head, and it has neither an id nor a sequence.
 */
export class RecentPlans {
  readonly #plans = new Map<string, InferPlan>()

  /** The plan of a request with exactly this head. @param head as {@link headOf} returns it. */
  find(head: string | undefined): InferPlan | undefined {
    return head === undefined ? undefined : this.#plans.get(head)
  }

  /** Keeps a plan for later requests, if it does not depend on anything but the head. @returns the plan */
  add(head: string | undefined, plan: InferPlan): InferPlan {
    const { id, inputs, sequence } = plan.request
    if (
      head === undefined ||
      id !== undefined ||
      sequence !== undefined ||
      !inputs.every(({ source }) => isBehind(source))
    )
      return plan
    if (this.#plans.size >= MOST && !this.#plans.has(head)) this.#plans.delete(this.#plans.keys().next().value!)
    this.#plans.set(head, plan)
    return plan
  }
}

/** A text with a character for each of the first bytes, so that other bytes are another text. Undefined if they are too many to be kept. */
export function headOf(bytes: Buffer, length: number = bytes.length): string | undefined {
  return length > LONGEST ? undefined : bytes.toString('latin1', 0, length)
}
