import { ArgumentError } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'

/** How many of the requests without a version each version of a model gets, in relation to the others: `{ '1': 90, '2': 10 }`. */
export type TrafficWeights = Readonly<Record<string, number>>

/** The highest weight of a version. */
const MOST = 1_000_000

interface Share {
  readonly version: string
  readonly weight: number
  /** How far the version is behind its share, in requests times the sum of all weights. */
  behind: number
}

/**
 * Distributes requests among the versions of a model by smooth weighted round robin, as nginx does. Of as many successive requests as the sum
 * of the weights (divided by their greatest common divisor), each version gets exactly its weight, and the versions are mixed as evenly as possible.
 */
export class Traffic {
  readonly #shares: readonly Share[]
  readonly #sum: number

  /**
   * @param weights whole numbers from 0 to 1,000,000 by version. Versions that are not among them get no requests without a version.
   * @throws {ArgumentError} if they are not such an object, all are 0, or a version is not among those of the model.
   */
  constructor(model: string, weights: unknown, versions: readonly string[]) {
    if (typeof weights !== 'object' || weights === null || Array.isArray(weights)) {
      throw wrongType('traffic', 'an object of weights by version', weights, "Write for example { '1': 90, '2': 10 }.")
    }
    this.#shares = Object.entries(weights).map(([version, weight]) => {
      if (!versions.includes(version)) {
        throw new ArgumentError(
          `traffic must have weights of loaded versions of the model ${model}, got ${JSON.stringify(version.slice(0, 60))}`,
          { hint: `Its versions are ${versions.join(', ')}.` },
        )
      }
      if (!Number.isSafeInteger(weight) || weight < 0 || weight > MOST) {
        throw wrongType(`the traffic of version ${version}`, `a whole number from 0 to ${MOST}`, weight)
      }
      return { version, weight: weight as number, behind: 0 }
    })
    this.#sum = this.#shares.reduce((sum, { weight }) => sum + weight, 0)
    if (this.#sum > 0) return
    throw new ArgumentError(`traffic must have a weight above 0 for a version of the model ${model}`, {
      hint: `Its versions are ${versions.join(', ')}.`,
    })
  }

  get weights(): TrafficWeights {
    return Object.fromEntries(this.#shares.map(({ version, weight }) => [version, weight]))
  }

  /** The version of the next request. */
  next(): string {
    let most: Share | undefined
    for (const share of this.#shares) {
      share.behind += share.weight
      if (share.weight > 0 && (most === undefined || share.behind > most.behind)) most = share
    }
    most!.behind -= this.#sum
    return most!.version
  }
}
