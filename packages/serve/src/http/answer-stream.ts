import type { InferResponse } from '../protocol/infer-response.ts'
import { streamInference } from '../service/stream-inference.ts'
import type { Exchange } from './exchange.ts'
import type { ReceivedInference } from './infer.ts'
import type { Part, StreamAnswer } from './send-stream.ts'

/** How the answers of a stream become the body of an answer of HTTP. */
export interface StreamEncoding extends Omit<StreamAnswer, 'parts'> {
  encode(response: InferResponse): Part
}

/**
 * Answers with a stream, which begins with the first answer of the model.
 *
 * @throws (rejects with) the error to answer if the model fails before.
 */
export async function answerStream(
  exchange: Exchange,
  { inference, count }: ReceivedInference,
  { encode, ...encoding }: StreamEncoding,
): Promise<StreamAnswer> {
  const elements = streamInference(inference, count, encode)
  // A client that leaves ends the model, whoever notices it first. Nobody is told of what a model throws then.
  exchange.onEnd(() => elements.return().then(doNothing, doNothing))
  return { ...encoding, parts: startingWith(await elements.next(), elements) }
}

async function* startingWith(first: IteratorResult<Part, void>, rest: AsyncGenerator<Part>): AsyncGenerator<Part> {
  if (first.done === true) return
  yield first.value
  yield* rest
}

function doNothing(): void {}
