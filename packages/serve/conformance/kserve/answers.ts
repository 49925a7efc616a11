import { tensor } from '@tenon/core'
import { Ajv, type ValidateFunction } from 'ajv'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { check, type Outcome } from '@tenon/config/conformance'
import { createServer, defineModel, type InferenceServer, type Model } from '../../src/index.ts'

/** The schemas of the answers over HTTP, in a checkout of the Open Inference Protocol. */
export const SCHEMAS = 'specification/protocol/open_inference_rest.yaml'

/** The element types that have a form in JSON, with the datatype and two values. */
const TYPES = [
  ['bool', 'BOOL', [true, false]],
  ['u8', 'UINT8', [0, 255]],
  ['u16', 'UINT16', [0, 65_535]],
  ['u32', 'UINT32', [0, 4_294_967_295]],
  ['u64', 'UINT64', [0, 2 ** 40]],
  ['i8', 'INT8', [-128, 127]],
  ['i16', 'INT16', [-32_768, 32_767]],
  ['i32', 'INT32', [-1, 1]],
  ['i64', 'INT64', [-(2 ** 40), 1]],
  ['f32', 'FP32', [0.5, -1]],
  ['f64', 'FP64', [0.1, 1e300]],
  ['string', 'BYTES', ['', 'text']],
] as const

function echo(dtype: string): Model {
  const signature: string = `(x: ${dtype}[rows, n]) -> (y: ${dtype}[rows, n])`
  return defineModel({ name: `echo_${dtype}`, signature, run: (inputs) => inputs['x']! })
}

const failing: Model = defineModel({
  name: 'failing',
  signature: '(x: f32[n]) -> (y: f32[n])',
  run: () => {
    throw new Error('on purpose')
  },
})

const infinite: Model = defineModel({
  name: 'infinite',
  signature: '(x: f32[n]) -> (y: f32[n])',
  run: ({ x }) => tensor('f32', x.shape, [Number.POSITIVE_INFINITY]),
})

/** One request, the status of its answer, and the schema that the answer must have. */
interface Exchange {
  readonly name: string
  readonly path: string
  readonly body?: object
  readonly status: number
  readonly schema: string
}

const infer = (model: string, status: number, inputs: readonly object[]): Exchange => ({
  name: `infer with ${model}`,
  path: `/v2/models/${model}/versions/1/infer`,
  body: { id: '42', inputs },
  status,
  schema: status === 200 ? 'inference_response' : 'inference_error_response',
})

const exchanges: readonly Exchange[] = [
  { name: 'metadata of the server', path: '/v2', status: 200, schema: 'metadata_server_response' },
  ...TYPES.flatMap(([dtype, datatype, data]) => [
    {
      name: `metadata of a model with ${datatype}`,
      path: `/v2/models/echo_${dtype}/versions/1`,
      status: 200,
      schema: 'metadata_model_response',
    },
    infer(`echo_${dtype}`, 200, [{ name: 'x', datatype, shape: [1, 2], data }]),
    infer(`echo_${dtype}`, 200, [{ name: 'x', datatype, shape: [2, 1], data: data.map((one) => [one]) }]),
    infer(`echo_${dtype}`, 400, [{ name: 'x', datatype, shape: [1, 3], data }]),
  ]),
  infer('failing', 500, [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }]),
  infer('infinite', 400, [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }]),
  infer('none', 404, []),
  { name: 'metadata of no model', path: '/v2/models/none', status: 404, schema: 'metadata_model_error_response' },
]

/** Checks that answers of a server have the schemas of the protocol. @param checkout that of the Open Inference Protocol. */
export async function checkAnswers(checkout: string): Promise<Outcome[]> {
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addSchema(parse(readFileSync(join(checkout, SCHEMAS), 'utf8')) as object, 'protocol')
  const models = [...TYPES.map(([dtype]) => echo(dtype)), failing, infinite]
  const server = await createServer({ models, http: { port: 0 }, logError: () => {} })
  try {
    const outcomes: Outcome[] = []
    for (const exchange of exchanges) {
      const validate = ajv.compile({ $ref: `protocol#/components/schemas/${exchange.schema}` })
      const name = `${exchange.name}: ${exchange.status}, ${exchange.schema}`
      outcomes.push(await check(name, () => checkAnswer(server, exchange, validate)))
    }
    return outcomes
  } finally {
    await server.closeAsync()
  }
}

async function checkAnswer(server: InferenceServer, exchange: Exchange, validate: ValidateFunction): Promise<void> {
  const { path, body, status } = exchange
  const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, request)
  const text = await reply.text()
  if (reply.status !== status) throw new Error(`the status is ${reply.status}, not ${status}: ${text}`)
  const json = JSON.parse(text) as Record<string, unknown>
  if (!validate(json)) throw new Error(`${JSON.stringify(validate.errors)}\n${text}`)
  // The schema of errors requires no field, but the text of the protocol does.
  if (status !== 200 && typeof json['error'] !== 'string')
    throw new Error(`an answer that is not 200 must have an error, got ${text}`)
}
