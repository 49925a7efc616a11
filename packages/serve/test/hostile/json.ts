import { inferOf, input, refused, type HostileRequest } from './hostile-request.ts'

const text = (name: string, body: string, error = 'the request must be', model = 'floats'): HostileRequest =>
  refused(name, 400, error, inferOf(model, body))

const field = (path: string, value: unknown, request: object, error: string): HostileRequest =>
  refused(`${path} ${JSON.stringify(value)?.slice(0, 40)}`, 400, error, inferOf('floats', request))

/** Values of a wrong kind for one field. */
const wrongOf = (
  path: string,
  values: readonly unknown[],
  error: string,
  make: (value: unknown) => object,
): HostileRequest[] => values.map((value) => field(path, value, make(value), error))

const element = (model: string, datatype: string, value: string): HostileRequest =>
  text(
    `the element ${value.slice(0, 30)} for ${datatype}`,
    `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[1],"data":[${value}]}]}`,
    'element 0 of x must be',
    model,
  )

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`

/** Bodies that are not JSON, and fields of a wrong kind. */
export const json: readonly HostileRequest[] = [
  text('an open brace', '{'),
  text('null', 'null'),
  text('an array', '[]'),
  text('a number', '1'),
  text('a text', '"x"'),
  text('NaN', '{"inputs":NaN}'),
  text('single quotes', "{'inputs':[]}"),
  text('a comma too many', '{"inputs":[],}'),
  text('a comment', '{/* */"inputs":[]}'),
  text('two values', '{}{}'),
  text('a byte order mark', '\uFEFF{"inputs":[]}'),
  text('NUL', '{"inputs":[]}\0'),
  refused('bytes that are not UTF-8', 400, 'UTF-8', inferOf('floats', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))),
  refused('UTF-16', 400, 'the request must be JSON', inferOf('floats', Buffer.from('{"inputs":[]}', 'utf16le'))),
  refused('a surrogate in UTF-8', 400, 'UTF-8', inferOf('floats', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))),
  text('100,000 brackets', nested(100_000)),
  text('100,000 open brackets', '['.repeat(100_000)),
  text('100,000 open objects', '{"a":'.repeat(100_000)),
  text(
    '100,000 brackets in the data',
    `{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":${nested(100_000)}}]}`,
    'element 0 of x must be',
  ),
  text(
    '100,000 brackets for integers',
    `{"inputs":[{"name":"x","datatype":"INT64","shape":[1],"data":${nested(100_000)}}]}`,
    '',
    'integers',
  ),
  text('no inputs', '{}', 'inputs must be'),
  text('inputs of the prototype', '{"__proto__":{"inputs":[]}}', 'inputs must be'),
  text(
    'a constructor as input',
    '{"inputs":[{"name":"constructor","datatype":"FP32","shape":[1],"data":[1]}]}',
    'no input "constructor"',
  ),
  text('an input that is missing', '{"inputs":[]}', 'must have the input x'),
  text('an input of another model', JSON.stringify({ inputs: [input(), input({ name: 'z' })] }), 'no input "z"'),
  text('an input twice', JSON.stringify({ inputs: [input(), input()] }), 'inputs must have each name once'),
  text(
    '10,000 inputs',
    JSON.stringify({ inputs: Array.from({ length: 10_000 }, (_, i) => input({ name: `x${i}` })) }),
    'no input',
  ),
  text('a name of 500,000 characters', JSON.stringify({ inputs: [input({ name: 'n'.repeat(500_000) })] }), 'no input'),
  text(
    'a name of 500,000 characters without data',
    JSON.stringify({ inputs: [{ name: 'n'.repeat(500_000), datatype: 'FP32', shape: [] }] }),
    'must have either',
  ),
  text(
    'a name of 200,000 characters twice',
    JSON.stringify({ inputs: [input({ name: 'n'.repeat(200_000) }), input({ name: 'n'.repeat(200_000) })] }),
    'each name once',
  ),
  text(
    'a datatype of 500,000 characters',
    JSON.stringify({ inputs: [input({ datatype: 'n'.repeat(500_000) })] }),
    'datatype FP32',
  ),
  text(
    'an output of 500,000 characters',
    JSON.stringify({ inputs: [input()], outputs: [{ name: 'n'.repeat(500_000) }] }),
    'no output',
  ),
  text(
    'a classification of an output of 500,000 characters',
    JSON.stringify({ inputs: [input()], outputs: [{ name: 'n'.repeat(500_000), parameters: { classification: 1 } }] }),
    'classification',
  ),
  text(
    'a parameter of 500,000 characters',
    JSON.stringify({ inputs: [input()], parameters: { ['n'.repeat(500_000)]: null } }),
    'a boolean, a number or a text',
  ),
  text(
    'an output that the model does not have',
    JSON.stringify({ inputs: [input()], outputs: [{ name: 'z' }] }),
    'no output "z"',
  ),
  text(
    'an output twice',
    JSON.stringify({ inputs: [input()], outputs: [{ name: 'y' }, { name: 'y' }] }),
    'outputs must have each name once',
  ),
  ...wrongOf('id', [1, null, true, [], {}], 'id must be a text', (id) => ({ id, inputs: [input()] })),
  ...wrongOf('inputs', [1, 'x', null, {}, true], 'inputs must be an array', (inputs) => ({ inputs })),
  ...wrongOf('inputs[0]', [1, 'x', null, [], true], 'inputs[0] must be an object', (one) => ({ inputs: [one] })),
  ...wrongOf('name', [1, '', null, [], {}], 'inputs[0].name must be a text', (name) => ({ inputs: [input({ name })] })),
  ...wrongOf('datatype', [1, '', null, [], {}], 'inputs[0].datatype must be a text', (datatype) => ({
    inputs: [input({ datatype })],
  })),
  ...wrongOf(
    'datatype',
    ['FP64', 'fp32', 'FLOAT', 'BYTES', '__proto__'],
    'must have the datatype FP32',
    (datatype) => ({ inputs: [input({ datatype })] }),
  ),
  ...wrongOf('data', [1, 'x', null, {}, true], 'data of x must be an array', (data) => ({ inputs: [input({ data })] })),
  ...wrongOf('data', [[], [1], [1, 2, 3], [[1, 2, 3]], [[1], [2]], [[[1, 2]]]], 'of x must', (data) => ({
    inputs: [input({ data })],
  })),
  ...wrongOf('parameters', [1, 'x', null, []], 'parameters must be an object', (parameters) => ({
    inputs: [input()],
    parameters,
  })),
  ...wrongOf('parameters of an input', [1, 'x', null, []], 'inputs[0].parameters must be an object', (parameters) => ({
    inputs: [input({ parameters })],
  })),
  ...wrongOf('a parameter', [null, [], {}], 'parameters.a must be a boolean, a number or a text', (a) => ({
    inputs: [input()],
    parameters: { a },
  })),
  ...wrongOf('outputs', [1, 'x', null, {}], 'outputs must be an array', (outputs) => ({ inputs: [input()], outputs })),
  ...wrongOf('outputs[0]', [1, 'x', null, []], 'outputs[0] must be an object', (one) => ({
    inputs: [input()],
    outputs: [one],
  })),
  ...wrongOf('binary_data', [1, 'x'], 'binary_data must be true or false', (one) => ({
    inputs: [input()],
    outputs: [{ name: 'y', parameters: { binary_data: one } }],
  })),
  ...wrongOf('binary_data_output', [1, 'x'], 'binary_data_output must be true or false', (one) => ({
    inputs: [input()],
    parameters: { binary_data_output: one },
  })),
  ...wrongOf('timeout', [-1, 1.5, 'x', true, 2 ** 53], 'timeout must be a whole number', (timeout) => ({
    inputs: [input()],
    parameters: { timeout },
  })),
  ...wrongOf('priority', [-1, 1.5, 'x', true, 2 ** 53], 'priority must be a whole number', (priority) => ({
    inputs: [input()],
    parameters: { priority },
  })),
  ...wrongOf('sequence_id', [1, 'x'], 'sequence_id must be absent', (one) => ({
    inputs: [input()],
    parameters: { sequence_id: one },
  })),
  ...wrongOf('sequence_id', [true, -1, 1.5, 2 ** 64, 'x'.repeat(129)], 'sequence_id must be a whole number', (one) => ({
    inputs: [input()],
    parameters: { sequence_id: one },
  })),
  ...wrongOf('sequence_start', [1, 'x'], 'sequence_start must be true or false', (one) => ({
    inputs: [input()],
    parameters: { sequence_id: 1, sequence_start: one },
  })),
  ...wrongOf('sequence_end', [true], 'must be with a sequence_id', (one) => ({
    inputs: [input()],
    parameters: { sequence_end: one },
  })),
  ...wrongOf('classification', [1, '1', true], 'classification', (one) => ({
    inputs: [input()],
    outputs: [{ name: 'y', parameters: { classification: one } }],
  })),
  refused(
    'a priority that the model does not have',
    400,
    'priority',
    inferOf('batched', { inputs: [input({ shape: [1, 2] })], parameters: { priority: 3 } }),
  ),
  refused(
    'more rows than a batch',
    400,
    'at most 4',
    inferOf('batched', { inputs: [input({ shape: [5, 2], data: Array.from({ length: 10 }, () => 1) })] }),
  ),
  ...['1e400', '-1e400', '"1"', 'null', 'true', '{}', '""'].map((value) => element('floats', 'FP32', value)),
  ...['9223372036854775808', '-9223372036854775809', '1.5', '1e300', '"1"', `1${'0'.repeat(5000)}`].map((value) =>
    element('integers', 'INT64', value),
  ),
  ...['-1', '256', '0.5', 'true'].map((value) => element('bytes', 'UINT8', value)),
  ...['2', '-1', '0.5', '"true"', 'null'].map((value) => element('booleans', 'BOOL', value)),
  ...['1', 'null', '{}', 'true', '"\\ud800"'].map((value) => element('texts', 'BYTES', value)),
  text(
    'a float of 16 bits',
    '{"inputs":[{"name":"x","datatype":"FP16","shape":[1],"data":[1]}]}',
    'must be sent as bytes',
    'halves',
  ),
]
