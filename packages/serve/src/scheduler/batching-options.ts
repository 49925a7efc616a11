import { ArgumentError } from '@tenon/core'
import { checkOptions, wrongType } from '@tenon/core/internal'

/** How requests of one priority wait, in the words of Triton's `ModelQueuePolicy`. */
export interface QueuePolicy {
  /** What happens to a request that waited too long: it fails, or it runs after all others. Default: `reject`. */
  readonly timeoutAction?: 'reject' | 'delay'
  /** The longest time in the queue, or 0 for no limit. Default: 0. */
  readonly defaultTimeoutMicroseconds?: number
  /** Whether the parameter `timeout` of a request may shorten this time. Default: true. */
  readonly allowTimeoutOverride?: boolean
  /** The requests that may wait. Default: 1024. */
  readonly maxQueueSize?: number
}

/** How requests become batches, in the words of Triton's `ModelDynamicBatching`. */
export interface BatchingOptions {
  /** The sizes that start at once. By default only the largest. */
  readonly preferredBatchSize?: readonly number[]
  /** How long a batch waits to grow. Default: 0. */
  readonly maxQueueDelayMicroseconds?: number
  /** Whether answers are given in the order of the requests. Default: false. */
  readonly preserveOrdering?: boolean
  /** The number of priorities, of which 1 is the highest. Default: 1. */
  readonly priorityLevels?: number
  /** The priority of requests that state none. Default: the lowest. */
  readonly defaultPriorityLevel?: number
  readonly defaultQueuePolicy?: QueuePolicy
  /** The policies of some priorities. */
  readonly priorityQueuePolicy?: Readonly<Record<number, QueuePolicy>>
}

/** The options of a model's queue with their defaults. */
export interface Batching {
  readonly maxBatchSize: number
  /** In rising order. */
  readonly preferredSizes: readonly number[]
  /** In milliseconds. */
  readonly delay: number
  readonly preserveOrdering: boolean
  readonly levels: number
  readonly defaultLevel: number
  policyOf(level: number): Required<QueuePolicy>
}

const BATCHING = [
  'defaultPriorityLevel',
  'defaultQueuePolicy',
  'maxQueueDelayMicroseconds',
  'preferredBatchSize',
  'preserveOrdering',
  'priorityLevels',
  'priorityQueuePolicy',
] as const
const POLICY = ['allowTimeoutOverride', 'defaultTimeoutMicroseconds', 'maxQueueSize', 'timeoutAction'] as const

/** @param maxBatchSize 0 for a model without batches. @throws {ArgumentError} if an option is not valid. */
export function readBatching(maxBatchSize: unknown, options: BatchingOptions | undefined): Batching {
  const most = checkWhole(maxBatchSize, 'maxBatchSize', 0)
  const given = checkOptions<BatchingOptions>(options, BATCHING, 'batching')
  const sizes = (given.preferredBatchSize ?? []).map((size) => checkWhole(size, 'preferredBatchSize', 1))
  const outside = sizes.find((size) => size > most)
  if (outside !== undefined) {
    throw new ArgumentError(`a preferredBatchSize must be at most maxBatchSize (${most}), got ${outside}`)
  }
  const levels = checkWhole(given.priorityLevels ?? 1, 'priorityLevels', 1)
  const usual = readPolicy(given.defaultQueuePolicy)
  const policies = new Map(
    Object.entries(given.priorityQueuePolicy ?? {}).map(([level, policy]) => [Number(level), readPolicy(policy)]),
  )
  return {
    maxBatchSize: most,
    preferredSizes: [...new Set(sizes)].toSorted((a, b) => a - b),
    delay: checkWhole(given.maxQueueDelayMicroseconds ?? 0, 'maxQueueDelayMicroseconds', 0) / 1000,
    preserveOrdering: given.preserveOrdering === true,
    levels,
    defaultLevel: checkLevel(given.defaultPriorityLevel ?? levels, levels),
    policyOf: (level) => policies.get(level) ?? usual,
  }
}

function readPolicy(options: QueuePolicy | undefined): Required<QueuePolicy> {
  const given = checkOptions<QueuePolicy>(options, POLICY, 'defaultQueuePolicy')
  const { timeoutAction = 'reject', allowTimeoutOverride = true } = given
  if (timeoutAction !== 'reject' && timeoutAction !== 'delay') {
    throw wrongType('timeoutAction', "'reject' or 'delay'", timeoutAction)
  }
  return {
    timeoutAction,
    allowTimeoutOverride,
    defaultTimeoutMicroseconds: checkWhole(given.defaultTimeoutMicroseconds ?? 0, 'defaultTimeoutMicroseconds', 0),
    maxQueueSize: checkWhole(given.maxQueueSize ?? 1024, 'maxQueueSize', 1),
  }
}

function checkLevel(value: unknown, levels: number): number {
  const level = checkWhole(value, 'defaultPriorityLevel', 1)
  if (level <= levels) return level
  throw new ArgumentError(`defaultPriorityLevel must be at most priorityLevels (${levels}), got ${level}`)
}

function checkWhole(value: unknown, name: string, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number
  throw wrongType(name, `a whole number from ${least}`, value)
}
