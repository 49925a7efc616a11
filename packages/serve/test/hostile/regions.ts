import { requestOf } from './exchange.ts'
import { inferOf, refused, type HostileRequest } from './hostile-request.ts'

const register = (name: string, status: number, error: string, body: unknown, region = 'a'): HostileRequest =>
  refused(
    name,
    status,
    error,
    requestOf(
      `/v2/systemsharedmemory/region/${region}/register`,
      typeof body === 'string' ? body : JSON.stringify(body),
    ),
  )

/**
 * Regions that must not be registered, and tensors that are not within one.
 *
 * @param prefix that of keys. The object `<prefix>-data` has 64 bytes and is the region `data`, of which 32 bytes are registered from 8.
 * `<prefix>-link`, `-folder`, `-pipe` and `-empty` are what their names say.
 */
export function regions(prefix: string): readonly HostileRequest[] {
  const key = `${prefix}-data`
  const wrongKey = (value: unknown): HostileRequest =>
    register(`the key ${JSON.stringify(value)?.slice(0, 40)}`, 400, 'key must be', { key: value, byte_size: 8 })
  const wrongRange = (range: object): HostileRequest =>
    register(`the range ${JSON.stringify(range)}`, 400, '', { key, ...range })
  return [
    ...[
      ...[undefined, null, 7, true, [], {}, '', '/', '.', '..', '/..', '//', `//${key}`, `/${key}/`, `../${key}`],
      ...[`/../${key}`, `/a/../${key}`, `${prefix}/../${key}`, `${prefix}/data`, '/etc/passwd', '/proc/self/mem'],
      ...[
        `${key}\0`,
        `${key}\n`,
        `${key} `,
        ` ${key}`,
        `${prefix}é`,
        prefix.slice(0, -1),
        `x${key}`,
        key.toUpperCase(),
      ],
      ...['/tenon-abc', 'triton_python_backend_shm_region_1', `${prefix}${'x'.repeat(300)}`, `%2e%2e%2f${key}`],
    ].map(wrongKey),
    ...['-link', '-folder', '-pipe', '-absent'].map((object) =>
      register(`an object that is not a file: ${object}`, 400, 'the region a must', {
        key: `${prefix}${object}`,
        byte_size: 1,
      }),
    ),
    register('an empty object', 400, 'must have 1 bytes, got 0', { key: `${prefix}-empty`, byte_size: 1 }),
    ...[{}, { byte_size: 0 }, { byte_size: -1 }, { byte_size: 1.5 }, { byte_size: '8' }, { byte_size: null }].map(
      wrongRange,
    ),
    ...[{ byte_size: 65 }, { byte_size: 2 ** 53 }, { byte_size: 1e300 }, { byte_size: true }].map(wrongRange),
    ...[-1, 1.5, '0', null, 64, 2 ** 53, 1e300, {}].map((offset) => wrongRange({ byte_size: 1, offset })),
    wrongRange({ byte_size: 2 ** 53 - 1, offset: 2 ** 53 - 1 }),
    wrongRange({ byte_size: 64, offset: 1 }),
    register('a name twice', 400, 'must be registered once', { key, byte_size: 8 }, 'data'),
    register('a name of 300 characters', 400, '1 to 255 characters', { key, byte_size: 8 }, 'n'.repeat(300)),
    register('no JSON', 400, 'the request must be', '{'),
    register('an array', 400, 'must be a JSON object', '[]'),
    register('a body beyond the limit', 413, 'at most', ' '.repeat(2 ** 20 + 1)),
    refused(
      'memory of GPUs',
      501,
      'shares no memory of GPUs',
      requestOf('/v2/cudasharedmemory/region/a/register', '{}'),
    ),
    ...tensors(),
  ]
}

const inRegion = (fields: object): object => ({ shared_memory_region: 'data', shared_memory_byte_size: 8, ...fields })

/** Inputs and outputs of requests in the region `data`, which has 32 bytes. */
function tensors(): HostileRequest[] {
  const described = { name: 'x', datatype: 'FP32', shape: [2] }
  const x = (name: string, status: number, error: string, fields: object, others: object = {}): HostileRequest =>
    refused(
      `an input in ${name}`,
      status,
      error,
      inferOf('floats', { inputs: [{ ...described, ...others, parameters: inRegion(fields) }] }),
    )
  const y = (name: string, status: number, error: string, fields: object): HostileRequest =>
    refused(
      `an output in ${name}`,
      status,
      error,
      inferOf('floats', {
        inputs: [{ ...described, data: [1, 2] }],
        outputs: [{ name: 'y', parameters: inRegion(fields) }],
      }),
    )
  return [
    x('an unknown region', 404, 'there is no region', { shared_memory_region: 'other' }),
    x('the region __proto__', 404, 'there is no region', { shared_memory_region: '__proto__' }),
    x('a region of 100,000 characters', 404, 'there is no region', { shared_memory_region: 'r'.repeat(100_000) }),
    x('a region without a name', 400, 'shared_memory_region must be a text', { shared_memory_region: '' }),
    x('the region 7', 400, 'shared_memory_region must be a text', { shared_memory_region: 7 }),
    x('no region', 400, 'shared_memory_region must be a text', { shared_memory_region: undefined }),
    x('a region without a size', 400, 'shared_memory_byte_size must be', { shared_memory_byte_size: undefined }),
    ...[-1, 1.5, '8', true, 2 ** 53].flatMap((value) => [
      x(`a region with the size ${value}`, 400, 'shared_memory_byte_size must be', { shared_memory_byte_size: value }),
      x(`a region with the offset ${value}`, 400, 'shared_memory_offset must be', { shared_memory_offset: value }),
    ]),
    x('a region behind its end', 400, 'must end within the 32 bytes', { shared_memory_offset: 25 }),
    x('a region far behind its end', 400, 'must end within the 32 bytes', { shared_memory_offset: 2 ** 53 - 1 }),
    x('the bytes behind the registered ones', 400, 'must end within the 32 bytes', { shared_memory_offset: 32 }),
    x('too few bytes', 400, 'shared_memory_byte_size of x must be 8', { shared_memory_byte_size: 4 }),
    x('too many bytes', 400, 'shared_memory_byte_size of x must be 8', { shared_memory_byte_size: 12 }),
    x('a region and in the JSON', 400, 'must have either', {}, { data: [1, 2] }),
    x('a region and behind the JSON', 400, 'must have either', { binary_data_size: 8 }),
    y('an unknown region', 404, 'there is no region', { shared_memory_region: 'other' }),
    y('too few bytes', 400, 'must have 8 bytes, got 4', { shared_memory_byte_size: 4 }),
    y('a region behind its end', 400, 'must end within the 32 bytes', { shared_memory_offset: 25 }),
    y('a region far behind its end', 400, 'must end within the 32 bytes', { shared_memory_offset: 2 ** 53 - 1 }),
  ]
}
