import type { IncomingMessage } from 'node:http'
import { InvalidRequestError } from '../errors.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { rawRequest } from '../protocol/raw-request.ts'
import { readInferRequest } from '../protocol/read-infer-request.ts'
import { findModel } from '../service/find-model.ts'
import { InferenceCount } from '../service/inference-count.ts'
import { planInference, type InferPlan } from '../service/infer-plan.ts'
import { Inference } from '../service/inference.ts'
import { headOf } from '../service/recent-plans.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { ServerState } from '../service/server-state.ts'
import type { Answer } from './answer.ts'
import { BodyReader } from './body-reader.ts'
import { encodeAsJson } from './encode-response.ts'
import type { Exchange } from './exchange.ts'

/** Runs a model for one request. @throws (rejects with) the error to answer. */
export async function infer(state: ServerState, exchange: Exchange): Promise<Answer> {
  const { request, parts, cancellation, record } = exchange
  const served = findModel(state, parts['model']!, parts['version'])
  served.enter()
  exchange.onEnd(() => served.leave())
  const count = new InferenceCount(served, state, { cancellation, carrier: request.headers, record })
  try {
    const reader = new BodyReader(exchange, state)
    exchange.onEnd(() => reader.release())
    const size = headerLength(request)
    const isRaw = size === 0
    const { limits } = state
    await reader.start()
    const reading = reader.read(isRaw ? undefined : size, isRaw ? limits.bytes : limits.jsonBytes)
    const head = reading instanceof Promise ? await reading : reading
    let plan: InferPlan | undefined = isRaw
      ? planInference(served.model, rawRequest(served.model, head), limits.bytes)
      : planOf(served, head, limits.bytes)
    record.inferenceId = plan.request.id
    const waiting = isRaw ? undefined : reader.reserve(plan.arrivingBytes, plan.copiedBytes)
    if (waiting !== undefined) await waiting
    const inference = new Inference(served, plan, state.regions, { cancellation, trace: count.trace, record })
    // The elements in its JSON take much more memory than their bytes, which are reserved.
    plan = undefined
    exchange.onEnd(() => inference.close())
    if (isRaw) {
      inference.places[0]?.set(head)
    } else {
      const arriving = reader.readInto(inference.places)
      if (arriving !== undefined) await arriving
    }
    const ending = reader.expectEnd()
    if (ending !== undefined) await ending
    exchange.hasRead = true
    const answering = inference.run(encodeAsJson)
    const { text, binary } = answering instanceof Promise ? await answering : answering
    count.succeed()
    return { status: 200, text, binary }
  } catch (error) {
    count.fail(error)
    throw error
  }
}

/** The plan of the request whose JSON has these bytes. Clients often send the same JSON with other tensors behind it. */
function planOf({ model, jsonPlans: plans }: ServedModel, json: Buffer, byteLimit: number): InferPlan {
  const head = headOf(json)
  const known = plans.find(head)
  if (known !== undefined) return known
  const isExact = model.inputs.some(({ dtype }) => dtype === 'int64' || dtype === 'uint64')
  return plans.add(head, planInference(model, readInferRequest(parseJson(json, isExact)), byteLimit))
}

/** The size of the JSON before the binary tensors, 0 for a body without JSON, or undefined if all of the body is JSON. @throws {InvalidRequestError} */
function headerLength({ headers }: IncomingMessage): number | undefined {
  const text = headers['inference-header-content-length']
  if (text === undefined) return undefined
  const size = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  const whole = headers['content-encoding'] === undefined ? headers['content-length'] : undefined
  if (size >= 0 && (whole === undefined || size <= Number(whole))) return size
  throw new InvalidRequestError(
    `Inference-Header-Content-Length must be the bytes of the JSON, got ${String(text).slice(0, 60)}`,
  )
}
