import { requestOf } from './exchange.ts'
import { inferOf, refused, type HostileRequest } from './hostile-request.ts'

type Verb = 'generate' | 'generate_stream' | 'infer_stream'

const ask = (
  verb: Verb,
  body: string | object,
  model = 'count',
  headers: Readonly<Record<string, string>> = {},
): Buffer => requestOf(`/v2/models/${model}/${verb}`, typeof body === 'string' ? body : JSON.stringify(body), headers)

/** A request of generate_stream that must be refused. */
const flat = (name: string, error: string, body: string | object): HostileRequest =>
  refused(name, 400, error, ask('generate_stream', body))

const n = { name: 'n', datatype: 'INT32', shape: [1], data: [1] }
const range = { shared_memory_region: 'data', shared_memory_byte_size: 4 }
const SHAPE = 'must have elements for the shape [1]'

/** Wrong requests for models with streams. */
export const streams: readonly HostileRequest[] = [
  refused('infer of a stream', 501, 'decoupled transaction policy', inferOf('count', { inputs: [n] })),
  refused('generate without an answer', 400, 'exactly 1 response', ask('generate', { n: 0 })),
  refused('generate with two answers', 400, 'exactly 1 response', ask('generate', { n: 2 })),
  refused('generate with endless answers', 400, 'exactly 1 response', ask('generate', { x: 1 }, 'endless')),
  refused('generate of an unknown model', 404, 'unknown model', ask('generate', { n: 0 }, 'none')),
  refused('generate_stream of a prototype', 404, 'unknown model', ask('generate_stream', { n: 0 }, '__proto__')),
  refused('infer_stream by GET', 405, 'must be POST', requestOf('/v2/models/count/infer_stream', '', {}, 'GET')),
  refused('generate by PUT', 405, 'must be POST', requestOf('/v2/models/count/generate', '{"n":1}', {}, 'PUT')),
  flat('no body', 'must be JSON', ''),
  flat('half of an object', 'must be JSON', '{"n":1'),
  flat('an array', 'the request must be an object', '[]'),
  flat('null', 'the request must be an object', 'null'),
  flat('a text', 'the request must be an object', '"n"'),
  flat('no input', 'must have the input n', {}),
  flat('an input of another name', 'must have the input n', { m: 1 }),
  flat('an input named as the prototype', 'must have the input n', '{"__proto__":1}'),
  flat('a parameter of null', 'parameters.m must be', { n: 1, m: null }),
  flat('a parameter of an object', 'parameters.m must be', { n: 1, m: {} }),
  flat('a parameter of an array', 'parameters.m must be', { n: 1, m: [1] }),
  flat('parameters of an array', 'parameters must be an object', { n: 1, parameters: [] }),
  flat('parameters of null', 'parameters must be an object', { n: 1, parameters: null }),
  flat('an input twice', 'each name once', { n: 1, parameters: { n: 1 } }),
  flat('an id of a number', 'id must be a text', { n: 1, id: 1 }),
  flat('a reserved parameter', 'timeout must be', { n: 1, timeout: -1 }),
  flat('a sequence', 'sequence_id must be absent', { n: 1, sequence_id: 1 }),
  flat('two elements', SHAPE, { n: [1, 2] }),
  flat('no element', SHAPE, { n: [] }),
  flat('an element of null', 'element 0 of n', { n: null }),
  flat('an element of a text', 'element 0 of n', { n: '1' }),
  flat('an element of an object', 'element 0 of n', { n: {} }),
  flat('a nested element', 'element 0 of n', { n: [[1, 2]] }),
  flat('a deep element', 'element 0 of n', `{"n":${'['.repeat(5000)}1${']'.repeat(5000)}}`),
  flat('a fraction', 'element 0 of n', { n: 1.5 }),
  flat('2^31', 'element 0 of n', { n: 2 ** 31 }),
  flat('an element of 1,000 digits', 'element 0 of n', `{"n":${'9'.repeat(1000)}}`),
  refused(
    'a stream in shared memory',
    400,
    'must not be in shared memory',
    ask('infer_stream', {
      inputs: [n],
      outputs: [{ name: 'i', parameters: range }],
    }),
  ),
  refused(
    'an output that a stream does not have',
    400,
    'no output',
    ask('infer_stream', { inputs: [n], outputs: [{ name: 'z' }] }),
  ),
  refused(
    'a stream with a header beyond its body',
    400,
    'Inference-Header-Content-Length',
    ask('infer_stream', { inputs: [n] }, 'count', { 'inference-header-content-length': '1e3' }),
  ),
  refused(
    'a final response that is a number',
    400,
    'triton_enable_empty_final_response must be',
    ask('infer_stream', {
      inputs: [n],
      parameters: { triton_enable_empty_final_response: 1 },
    }),
  ),
]

const inSequence = (name: string, error: string, parameters: string | object): HostileRequest =>
  refused(
    name,
    400,
    error,
    inferOf(
      'sum',
      typeof parameters === 'string'
        ? `{"parameters":${parameters},"inputs":[${JSON.stringify({ ...n, name: 'x' })}]}`
        : { parameters, inputs: [{ ...n, name: 'x' }] },
    ),
  )

const ID = 'sequence_id must be a whole number'
const START = 'must specify the START flag'

/** Wrong requests of sequences. */
export const sequences: readonly HostileRequest[] = [
  inSequence('no sequence', 'non-zero or non-empty correlation ID', {}),
  inSequence('the number 0', 'non-zero or non-empty correlation ID', { sequence_id: 0 }),
  inSequence('the number -0', 'non-zero or non-empty correlation ID', '{"sequence_id":-0}'),
  inSequence('an empty name', 'non-zero or non-empty correlation ID', { sequence_id: '' }),
  inSequence('a start without a sequence', 'must be with a sequence_id', { sequence_start: true }),
  inSequence('an end of the number 0', 'must be with a sequence_id', { sequence_id: 0, sequence_end: true }),
  inSequence('the number -1', ID, { sequence_id: -1 }),
  inSequence('the number 1.5', ID, { sequence_id: 1.5 }),
  inSequence('the number 2^64', ID, '{"sequence_id":18446744073709551616,"sequence_start":true}'),
  inSequence('the number 1e400', ID, '{"sequence_id":1e400,"sequence_start":true}'),
  inSequence('true', ID, { sequence_id: true }),
  inSequence('a name of 129 characters', ID, { sequence_id: 'x'.repeat(129), sequence_start: true }),
  inSequence('a name of 100,000 characters', ID, { sequence_id: 'x'.repeat(100_000), sequence_start: true }),
  inSequence('an object', 'parameters.sequence_id must be', { sequence_id: {} }),
  inSequence('null', 'parameters.sequence_id must be', { sequence_id: null }),
  inSequence('a start of 1', 'sequence_start must be true or false', { sequence_id: 1, sequence_start: 1 }),
  inSequence('a start of a text', 'sequence_start must be true or false', { sequence_id: 1, sequence_start: 'true' }),
  inSequence('an end of a text', 'sequence_end must be true or false', { sequence_id: 1, sequence_end: 'yes' }),
  inSequence('an unknown number', START, { sequence_id: 424_242 }),
  inSequence('an unknown name', START, { sequence_id: '__proto__' }),
  inSequence('an end without a start', START, { sequence_id: 'constructor', sequence_end: true }),
  inSequence('half of a character', START, '{"sequence_id":"\\ud83d"}'),
  refused(
    'a start without its input',
    400,
    'must have the input x',
    inferOf('sum', {
      parameters: { sequence_id: 's', sequence_start: true },
      inputs: [],
    }),
  ),
]
