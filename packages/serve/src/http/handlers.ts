import type { IncomingMessage } from 'node:http'
import { InvalidRequestError } from '../errors.ts'
import { extensionsOf } from '../protocol/extensions.ts'
import { encodeAsJson } from '../protocol/infer-response.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { readInferRequest } from '../protocol/read-infer-request.ts'
import type { Cancellation } from '../service/cancellation.ts'
import { countInference } from '../service/count-inference.ts'
import { findModel } from '../service/find-model.ts'
import { readOverrides } from '../repository/read-overrides.ts'
import { Inference } from '../service/inference.ts'
import type { RequestLimits, ServerState } from '../service/server-state.ts'
import type { Answer } from './answer.ts'
import { BodyReader } from './body-reader.ts'
import { modelConfig, modelMetadata, modelStatistics } from './metadata.ts'
import { Router, type PathParts } from './router.ts'

/** One request, and what ends with it. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly parts: PathParts
  /** Cancelled when the client is gone. */
  readonly cancellation: Cancellation
  /** Adds an action that runs once the answer was written, or the client is gone. The last one runs first. */
  onEnd(action: () => Promise<void>): void
}

/** Answers the requests of one path. @throws (rejects with) the error to answer. */
export type Handler = (exchange: Exchange) => Answer | Promise<Answer>

/** The paths of the protocol. */
export function routesOf(state: ServerState): Router<Handler> {
  const { registry } = state
  const router = new Router<Handler>()
  const ofModel = (verb: string, rest: string, handler: Handler): void => {
    router.add(verb, `/v2/models/:model${rest}`, handler)
    router.add(verb, `/v2/models/:model/versions/:version${rest}`, handler)
  }
  const found = ({ parts }: Exchange) => registry.find(parts['model']!, parts['version'])

  router.add('GET', '/v2', () =>
    ok({ name: state.name, version: state.version, extensions: extensionsOf(state.control) }),
  )
  router.add('GET', '/v2/health/live', () => ok({ live: true }))
  router.add('GET', '/v2/health/ready', () => readiness(state.life.isReady))
  router.add('GET', '/v2/models/stats', () => ok({ model_stats: registry.all().map(modelStatistics) }))
  router.add('POST', '/v2/repository/index', async ({ request }) => {
    const { ready } = await readObject(request, state.limits)
    return ok(state.control.index(ready === true))
  })
  router.add('POST', '/v2/repository/models/:model/load', async ({ request, parts }) => {
    const name = parts['model']!
    const { parameters = {} } = await readObject(request, state.limits)
    await state.control.load(name, readOverrides(name, parameters as Readonly<Record<string, unknown>>))
    return { status: 200, text: '' }
  })
  router.add('POST', '/v2/repository/models/:model/unload', async ({ parts }) => {
    await state.control.unload(parts['model']!)
    return { status: 200, text: '' }
  })
  router.add('GET', '/metrics', async () => ({ status: 200, ...(await state.metrics.text()) }))
  ofModel('GET', '', (exchange) => ok(modelMetadata(found(exchange), registry.versions(exchange.parts['model']!))))
  ofModel('GET', '/ready', (exchange) => {
    const { model } = found(exchange)
    return { ...readiness(state.life.isReady), text: JSON.stringify({ name: model.name, ready: state.life.isReady }) }
  })
  ofModel('GET', '/config', (exchange) => ok(modelConfig(found(exchange))))
  ofModel('GET', '/stats', (exchange) => ok({ model_stats: [modelStatistics(found(exchange))] }))
  ofModel('POST', '/infer', (exchange) => infer(state, exchange))
  return router
}

/** The JSON object of a small request, whose body may be empty. @throws (rejects with) {InvalidRequestError} */
async function readObject(request: IncomingMessage, limits: RequestLimits): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await new BodyReader(request, limits).read(undefined)
  const json = bytes.length === 0 ? {} : parseJson(bytes, false)
  if (typeof json === 'object' && json !== null && !Array.isArray(json))
    return json as Readonly<Record<string, unknown>>
  throw new InvalidRequestError('the request must be a JSON object')
}

const ok = (value: object): Answer => ({ status: 200, text: JSON.stringify(value) })

/** KServe reads `ready`, and the text of the protocol says `live`. */
const readiness = (isReady: boolean): Answer => ({
  status: isReady ? 200 : 503,
  text: JSON.stringify({ live: true, ready: isReady }),
})

async function infer(state: ServerState, { request, parts, cancellation, onEnd }: Exchange): Promise<Answer> {
  const { limits, metrics } = state
  const served = findModel(state, parts['model']!, parts['version'])
  served.enter()
  onEnd(async () => served.leave())
  return countInference(served, metrics, cancellation, async () => {
    const reader = new BodyReader(request, limits)
    const isExact = served.model.inputs.some(({ dtype }) => dtype === 'int64' || dtype === 'uint64')
    const inferRequest = readInferRequest(parseJson(await reader.read(headerLength(request)), isExact))
    const inference = new Inference(served, inferRequest, limits.bytes)
    onEnd(() => inference.closeAsync())
    await reader.readInto(inference.places)
    await reader.expectEnd()
    return { status: 200, ...(await inference.run(cancellation, encodeAsJson)) }
  })
}

/** The size of the JSON before the binary tensors, or undefined if all of the body is JSON. @throws {InvalidRequestError} */
function headerLength({ headers }: IncomingMessage): number | undefined {
  const text = headers['inference-header-content-length']
  if (text === undefined) return undefined
  const size = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  const whole = headers['content-encoding'] === undefined ? headers['content-length'] : undefined
  if (size > 0 && (whole === undefined || size <= Number(whole))) return size
  throw new InvalidRequestError(
    `Inference-Header-Content-Length must be the bytes of the JSON, got ${String(text).slice(0, 60)}`,
  )
}
