import type { IncomingMessage } from 'node:http'
import { InvalidRequestError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { rawRequest } from '../protocol/raw-request.ts'
import { readInferRequest } from '../protocol/read-infer-request.ts'
import { InferenceCount } from '../service/inference-count.ts'
import { planInference, type InferPlan } from '../service/infer-plan.ts'
import { Inference } from '../service/inference.ts'
import { headOf } from '../service/recent-plans.ts'
import type { ServedModel } from '../service/served-model.ts'
import { findModel, type ServerState } from '../service/server-state.ts'
import { streamRefusal } from '../service/stream-inference.ts'
import type { Answer } from './answer.ts'
import { BodyReader } from './body-reader.ts'
import { encodeAsJson } from './encode-response.ts'
import type { Exchange } from './exchange.ts'
import type { Handler } from './handler.ts'

/** Returns the handler that runs a model once for each request. */
export const inferHandler =
  (state: ServerState): Handler =>
  async (exchange): Promise<Answer> => {
    const { inference, count } = await receiveInference(state, exchange, planInferRequest, true)
    try {
      const answering = inference.run(encodeAsJson)
      const { text, binary } = answering instanceof Promise ? await answering : answering
      count.succeed()
      return { status: 200, text, binary }
    } catch (error) {
      count.fail(error)
      throw error
    }
  }

/** A request for a model, all of which has arrived. Its end must be counted. */
export interface ReceivedInference {
  readonly inference: Inference
  readonly count: InferenceCount
}

/** Plans the request that JSON describes. @throws {InvalidRequestError | RequestTooLargeError} */
export type PlanJson = (served: ServedModel, json: Buffer, byteLimit: number) => InferPlan

/**
 * Reads the request of an inference.
 *
 * @param planJson reads its JSON. @param isStreamRefused whether models with streams are refused, before anything is read.
 * @throws (rejects with) the error to answer, which was counted.
 */
export async function receiveInference(
  state: ServerState,
  exchange: Exchange,
  planJson: PlanJson = planInferRequest,
  isStreamRefused: boolean = false,
): Promise<ReceivedInference> {
  const { request, parts, cancellation, record } = exchange
  const served = findModel(state, parts['model']!, parts['version'])
  served.enter()
  exchange.onEnd(() => served.leave())
  const count = new InferenceCount(served, state, { cancellation, carrier: request.headers, record })
  try {
    if (isStreamRefused && served.model.stream !== undefined) throw streamRefusal('HTTP')
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
      : planJson(served, head, limits.bytes)
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
    return { inference, count }
  } catch (error) {
    count.fail(error)
    throw error
  }
}

/** The plan of the request of the protocol whose JSON has these bytes. Clients often send the same JSON with other tensors behind it. */
const planInferRequest: PlanJson = ({ model, jsonPlans: plans }, json, byteLimit) => {
  const head = headOf(json)
  const known = plans.find(head)
  if (known !== undefined) return known
  return plans.add(head, planInference(model, readInferRequest(parseJson(json, needsExactJson(model))), byteLimit))
}

/** Whether a request for a model can have integers beyond 2^53: elements, or the number of a sequence. */
export const needsExactJson = ({ inputs, sequence }: Model): boolean =>
  sequence !== undefined || inputs.some(({ dtype }) => dtype === 'int64' || dtype === 'uint64')

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
