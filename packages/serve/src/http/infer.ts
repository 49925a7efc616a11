import type { ServerState } from '../service/server-state.ts'
import { refuseStream } from '../service/stream-inference.ts'
import type { Answer } from './answer.ts'
import { encodeAsJson } from './encode-response.ts'
import type { Exchange } from './exchange.ts'
import { receiveInference } from './receive-inference.ts'

/** Runs a model for one request. @throws (rejects with) the error to answer. */
export async function infer(state: ServerState, exchange: Exchange): Promise<Answer> {
  const { inference, count } = await receiveInference(state, exchange, undefined, ({ model }) => {
    refuseStream(model, 'HTTP')
  })
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
