import { InvalidRequestError } from '../errors.ts'
import { readGenerateRequest } from '../protocol/generate-request.ts'
import type { InferResponse } from '../protocol/infer-response.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { elementsForJson } from '../protocol/tensor-json.ts'
import { planInference } from '../service/infer-plan.ts'
import type { ServerState } from '../service/server-state.ts'
import type { Answer } from './answer.ts'
import { answerStream } from './answer-stream.ts'
import type { Exchange } from './exchange.ts'
import { needsExactJson, receiveInference, type PlanJson } from './infer.ts'
import type { StreamAnswer } from './send-stream.ts'

/**
 * Answers a request of Triton's generate extension with one JSON object.
 *
 * @throws (rejects with) the error to answer; {InvalidRequestError} if the model does not answer exactly once.
 */
export async function generate(state: ServerState, exchange: Exchange): Promise<Answer> {
  const { inference, count } = await receiveInference(state, exchange, planGenerateRequest)
  try {
    const texts: string[] = []
    for await (const text of inference.stream(encode)) {
      texts.push(text)
      if (texts.length > 1) break
    }
    if (texts.length !== 1) throw new InvalidRequestError(NOT_ONE)
    count.succeed()
    return { status: 200, text: texts[0]! }
  } catch (error) {
    count.fail(error)
    throw error
  }
}

/** The text of Triton. */
const NOT_ONE =
  'generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses'

/** Answers a request of Triton's generate extension with an event for each answer. */
export async function generateStream(state: ServerState, exchange: Exchange): Promise<StreamAnswer> {
  const received = await receiveInference(state, exchange, planGenerateRequest)
  return answerStream(exchange, received, {
    contentType: 'text/event-stream; charset=utf-8',
    encode: (response) => eventOf(encode(response)),
    encodeFailure: ({ text }) => eventOf(text),
    end: '',
  })
}

const planGenerateRequest: PlanJson = ({ model }, json, byteLimit) =>
  planInference(model, readGenerateRequest(model, parseJson(json, needsExactJson(model))), byteLimit)

/** The data of an event must be one line, as JSON is. */
const eventOf = (json: string): string => `data: ${json}\n\n`

/** An output with one element is that element, and others are arrays of their elements. */
function encode({ model, id, outputs }: InferResponse): string {
  const values = outputs.map(({ chosen: { spec }, tensor }) => {
    const elements = elementsForJson(spec.name, tensor)
    return [spec.name, elements.length === 1 ? elements[0] : elements] as const
  })
  return JSON.stringify({
    ...(id === undefined ? {} : { id }),
    model_name: model.name,
    model_version: model.version,
    ...Object.fromEntries(values),
  })
}
