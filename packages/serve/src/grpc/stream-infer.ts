import { create, toBinary } from '@bufbuild/protobuf'
import { status, type ServerDuplexStream } from '@grpc/grpc-js'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { ModelInferResponseSchema, ModelStreamInferResponseSchema } from '../generated/open_inference_pb.js'
import type { RequestRecord } from '../log/request-record.ts'
import { callLater } from '../service/call-later.ts'
import { Cancellation } from '../service/cancellation.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { Origin } from '../service/inference-count.ts'
import { longestSend } from '../service/longest-send.ts'
import type { ServerState } from '../service/server-state.ts'
import { encodeStreamResponse } from './encode-response.ts'
import { statusOf } from './failure-code.ts'
import { closing } from './handlers.ts'
import { InferCall, type GrpcExchange } from './infer.ts'

type StreamCall = ServerDuplexStream<Buffer, Buffer>

/** The most requests of one call whose answers are in progress. Further messages of the call are not read. */
const MOST_IN_PROGRESS = 128

/**
 * Answers the requests of a call as fast as its client reads. Those for models that answer once are answered one behind the other. Requests
 * for models with streams are answered side by side, also beside the others. A request that fails is an answer with its error. A server that
 * closes answers the requests that run, and ends the call.
 */
export async function streamInfer(state: ServerState, call: StreamCall, origin: Origin): Promise<void> {
  const requests = new Set<Cancellation>()
  const running = new Set<Promise<void>>()
  // A cancellation has one listener, and each request may wait for something.
  origin.cancellation.listener = () => {
    for (const request of requests) request.cancel(origin.cancellation.reason)
  }
  // Until the answers are sent: an end before that would destroy the call, and its status would never follow them.
  const endWhenIdle = (): void => {
    if (requests.size === 0 && !call.writableEnded) call.emit('error', closing)
  }
  // Each answer that waits for the client has a listener.
  call.setMaxListeners(2 * MOST_IN_PROGRESS)
  call.once('close', state.life.onClose(endWhenIdle))
  for await (const bytes of call as AsyncIterable<Buffer>) {
    const cancellation = new Cancellation()
    requests.add(cancellation)
    const record = origin.record.next()
    record.bytesIn = bytes.length
    const { carrier } = origin
    const exchange: GrpcExchange = { cancellation, carrier, record, model: undefined, onCopied: undefined }
    const { isStream, answered } = answerMessage(state, call, bytes, exchange)
    const ended = answered
      .catch((error: unknown) => void call.destroy(error as Error))
      .finally(() => {
        requests.delete(cancellation)
        running.delete(ended)
        if (cancellation.isCancelled) record.leave()
        state.log.end(record)
        if (!state.life.isOpen) endWhenIdle()
      })
    running.add(ended)
    if (!isStream) await ended
    else if (running.size === MOST_IN_PROGRESS) await Promise.race(running)
    if (origin.cancellation.isCancelled) return
  }
  await Promise.all(running)
  call.end()
}

/** Answers one message. */
function answerMessage(
  state: ServerState,
  call: StreamCall,
  bytes: Buffer,
  exchange: GrpcExchange,
): { readonly isStream: boolean; readonly answered: Promise<void> } {
  let message: InferCall
  try {
    message = new InferCall(state, bytes, exchange)
  } catch (error) {
    return { isStream: false, answered: fail(state, call, exchange, error) }
  }
  const answering = message.isStream ? sendStream : sendOne
  const answered = answering(state, call, message, exchange).catch((error: unknown) =>
    fail(state, call, exchange, error),
  )
  return { isStream: message.isStream, answered }
}

async function sendOne(
  state: ServerState,
  call: StreamCall,
  message: InferCall,
  { record }: GrpcExchange,
): Promise<void> {
  const response = await message.answer()
  let answer: Buffer
  try {
    answer = encodeStreamResponse(response, true)
  } finally {
    message.release()
  }
  record.status = status.OK
  await send(state, call, record, answer)
}

/** Only its end shows which answer of a stream was the last one, so the final response is one without outputs, for clients that want it. */
async function sendStream(
  state: ServerState,
  call: StreamCall,
  message: InferCall,
  { record }: GrpcExchange,
): Promise<void> {
  for await (const response of message.stream()) await send(state, call, record, encodeStreamResponse(response, false))
  record.status = status.OK
  if (!message.wantsEmptyFinal) return
  const { modelName, modelVersion } = message
  const empty = create(ModelInferResponseSchema, { modelName, modelVersion, id: record.inferenceId ?? '' })
  await send(state, call, record, encodeStreamResponse(Buffer.from(toBinary(ModelInferResponseSchema, empty)), true))
}

/** Sends the error of a request, unless nobody waits for it. */
async function fail(state: ServerState, call: StreamCall, exchange: GrpcExchange, error: unknown): Promise<void> {
  if (exchange.cancellation.isCancelled) return
  const { record, model } = exchange
  const { code, details: errorMessage } = statusOf(describeFailure(error, model))
  record.error = error
  record.status = code
  // Clients with several requests find the one that failed by its id.
  const parameters = { triton_final_response: { parameterChoice: { case: 'boolParam', value: true } as const } }
  const answer = create(ModelStreamInferResponseSchema, {
    errorMessage,
    inferResponse: { id: record.inferenceId ?? '', parameters },
  })
  await send(state, call, record, Buffer.from(toBinary(ModelStreamInferResponseSchema, answer)))
}

/** Sends an answer. Resolves when the window of the client has taken it, or the call is over. A client that takes too long loses the call. */
function send({ limits }: ServerState, call: StreamCall, record: RequestRecord, bytes: Buffer): Promise<void> {
  record.bytesOut += bytes.length
  return new Promise((resolve) => {
    const takeBack = callLater(
      () => {
        // grpc-js would wait for the client before it ends the call.
        const { stream } = (call as unknown as { call: { stream: ServerHttp2Stream } }).call
        stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      },
      longestSend(limits.timeout, bytes.length),
    )
    const end = (): void => {
      takeBack()
      call.off('close', end)
      resolve()
    }
    if (call.destroyed) {
      end()
      return
    }
    // grpc-js drops the callbacks of a call that is cancelled, and then closes it.
    call.once('close', end)
    call.write(bytes, end)
  })
}
