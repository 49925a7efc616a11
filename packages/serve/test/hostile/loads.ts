import { requestOf } from './exchange.ts'
import { refused, type HostileRequest } from './hostile-request.ts'

const load = (name: string, status: number, error: string, body: unknown, model = 'stored'): HostileRequest =>
  refused(
    name,
    status,
    error,
    requestOf(`/v2/repository/models/${model}/load`, typeof body === 'string' ? body : JSON.stringify(body)),
  )

const failed = "failed to load 'stored'"

/** Triton answers 500 when a model cannot be loaded, and clients look for its words. */
const withConfig = (config: unknown, error = 'failed to poll from model repository'): HostileRequest =>
  load(`the configuration ${JSON.stringify(config).slice(0, 60)}`, 500, error, {
    parameters: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  })

/** Loads of models that the repository does not have, or with a configuration that must not be taken. */
export const loads: readonly HostileRequest[] = [
  ...['', '{', 'null', '1', '"x"', '[1', 'NaN'].map((config) => withConfig(config)),
  ...[-1, 1.5, 'x', '-1', '1e3', true, null, [], {}, 2 ** 53, '9'.repeat(20)].map((size) =>
    withConfig({ max_batch_size: size }),
  ),
  ...[-1, 1.5, 'x', true, [], {}].map((count) => withConfig({ instance_group: [{ count }] })),
  ...[null, 1, 'x'].map((group) => withConfig({ instance_group: [group] })),
  withConfig({ instance_group: [{ count: 1e9 }] }, failed),
  withConfig({ instance_group: Array.from({ length: 1000 }, () => ({ count: 1000 })) }, failed),
  ...[-1, 0.5, 'x', null].map((size) => withConfig({ dynamic_batching: { preferred_batch_size: [size] } })),
  ...[-1, 0.5, 'x', null].map((delay) => withConfig({ dynamic_batching: { max_queue_delay_microseconds: delay } })),
  withConfig({ max_batch_size: 2, dynamic_batching: { preferred_batch_size: [4] } }, failed),
  ...[1, 'x', [], null].map((parameters) =>
    load(`the parameters ${JSON.stringify(parameters)}`, 400, 'parameters must be', { parameters }),
  ),
  ...[1, {}, [], { toString: 1 }, null].map((config) =>
    load(`a configuration that is not a string: ${JSON.stringify(config)}`, 500, 'config must be a text', {
      parameters: { config },
    }),
  ),
  load('a file', 500, 'files of clients are not loaded', { parameters: { 'file:1/model.so': 'AAAA' } }),
  load('a file of the folder above', 500, 'files of clients are not loaded', { parameters: { 'file:../x': 'AAAA' } }),
  load('an unknown parameter', 500, 'there is no parameter', { parameters: { ['p'.repeat(100_000)]: 1 } }),
  load('no JSON', 400, 'must be JSON', '{'),
  load('an array', 400, 'must be a JSON object', '[]'),
  load('an unknown model', 500, "failed to load 'no'", {}, 'no'),
  load('the folder above', 500, 'failed to load', {}, '..%2fstored'),
  load('a path', 500, 'failed to load', {}, '%2fetc'),
  load('a name with NUL', 500, 'failed to load', {}, 'stored%00'),
  load('a name of 10,000 characters', 500, 'failed to load', {}, 'n'.repeat(10_000)),
  load('the prototype', 500, 'failed to load', {}, '__proto__'),
  load('a model of the server itself', 500, 'failed to load', {}, 'double'),
  load('a model with a wrong description', 500, 'model.json must be JSON', {}, 'broken'),
  load('a model without a library', 500, "failed to load 'absent'", {}, 'absent'),
  refused(
    'an unload of an unknown model',
    404,
    'Request for unknown model',
    requestOf('/v2/repository/models/no/unload', ''),
  ),
  refused(
    'an unload of a model of the server itself',
    404,
    'Request for unknown model',
    requestOf('/v2/repository/models/double/unload', ''),
  ),
  refused('an index with a wrong body', 400, 'must be a JSON object', requestOf('/v2/repository/index', '[]')),
]
