import { ModelLoadError } from '../errors.ts'
import { cutOff } from '../protocol/wrong-field.ts'
import type { ModelOverrides } from './model-source.ts'

/**
 * Reads the parameters of a request to load a model. `config` is JSON in the words of Triton's `ModelConfig`, of which
 * `max_batch_size`, `dynamic_batching` and the counts of `instance_group` are taken. Numbers may be texts, as in JSON of protobuf.
 *
 * @throws {ModelLoadError} for `file:` parameters, with which a client would bring code into the server, and for what cannot be read.
 */
export function readOverrides(model: string, parameters: Readonly<Record<string, unknown>>): ModelOverrides {
  const fail = (reason: string): ModelLoadError =>
    new ModelLoadError(`failed to load '${cutOff(model)}', failed to poll from model repository: ${reason}`)
  for (const name of Object.keys(parameters)) {
    if (name.startsWith('file:')) throw fail('files of clients are not loaded')
    if (name !== 'config') throw fail(`there is no parameter ${JSON.stringify(name.slice(0, 60))}`)
  }
  const { config } = parameters
  if (config === undefined) return {}
  if (typeof config !== 'string') throw fail('config must be a text of JSON')
  let json: unknown
  try {
    json = JSON.parse(config)
  } catch {
    throw fail('config must be JSON')
  }
  if (typeof json !== 'object' || json === null) throw fail('config must be a JSON object')
  const {
    max_batch_size: most,
    dynamic_batching: batching,
    instance_group: groups,
  } = json as Readonly<Record<string, unknown>>
  const number = (value: unknown, name: string): number => {
    const read = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    if (Number.isSafeInteger(read) && (read as number) >= 0) return read as number
    throw fail(`${name} must be a whole number`)
  }
  const counts = Array.isArray(groups) ? groups.map((group) => number(countOf(group), 'count of instance_group')) : []
  const sum = counts.reduce((total, count) => total + count, 0)
  return {
    ...(most === undefined ? {} : { maxBatchSize: number(most, 'max_batch_size') }),
    ...(sum === 0 ? {} : { instances: sum }),
    ...(typeof batching === 'object' && batching !== null ? { batching: readBatching(batching, number) } : {}),
  }
}

/** The number of instances of a group, 1 by default. Returns undefined if the value is not a group. */
const countOf = (group: unknown): unknown =>
  typeof group === 'object' && group !== null ? ((group as { readonly count?: unknown }).count ?? 1) : undefined

function readBatching(
  batching: object,
  number: (value: unknown, name: string) => number,
): NonNullable<ModelOverrides['batching']> {
  const { preferred_batch_size: sizes, max_queue_delay_microseconds: delay } = batching as Readonly<
    Record<string, unknown>
  >
  return {
    ...(Array.isArray(sizes) ? { preferredBatchSize: sizes.map((size) => number(size, 'preferred_batch_size')) } : {}),
    ...(delay === undefined ? {} : { maxQueueDelayMicroseconds: number(delay, 'max_queue_delay_microseconds') }),
  }
}
