import { create, fromBinary, toBinary, type DescMessage, type MessageShape } from '@bufbuild/protobuf'
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js'
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '../generated/health_pb.js'
import {
  ModelConfigRequestSchema,
  ModelConfigResponseSchema,
  ModelMetadataRequestSchema,
  ModelMetadataResponseSchema,
  ModelReadyRequestSchema,
  ModelReadyResponseSchema,
  ModelStatisticsRequestSchema,
  ModelStatisticsResponseSchema,
  ModelStreamInferResponseSchema,
  RepositoryIndexRequestSchema,
  RepositoryIndexResponseSchema,
  RepositoryModelLoadRequestSchema,
  RepositoryModelLoadResponseSchema,
  RepositoryModelUnloadRequestSchema,
  RepositoryModelUnloadResponseSchema,
  ServerLiveResponseSchema,
  ServerMetadataResponseSchema,
  ServerReadyResponseSchema,
} from '../generated/open_inference_pb.js'
import { InvalidRequestError } from '../errors.ts'
import { extensionsOf } from '../protocol/extensions.ts'
import { readOverrides } from '../repository/read-overrides.ts'
import type { Cancellation } from '../service/cancellation.ts'
import { describeFailure } from '../service/describe-failure.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { ServerState } from '../service/server-state.ts'
import { encodeInferMessage, infer, readInferMessage } from './infer.ts'
import { configMessage, metadataMessage, statisticsMessage } from './to-message.ts'

/** One call. */
export interface GrpcExchange {
  /** Cancelled when the client is gone. */
  readonly cancellation: Cancellation
  /** The model that the message names, for the description of errors. */
  model: string | undefined
}

/** Answers one message with one. Both are bytes. @throws (or rejects with) the error to answer. */
export type UnaryHandler = (bytes: Buffer, exchange: GrpcExchange) => Buffer | Promise<Buffer>

/** The methods with one request and one answer, by name. */
export function unaryHandlers(state: ServerState): Readonly<Record<string, UnaryHandler>> {
  const { life, name, version, registry } = state
  const found = (request: { readonly name: string; readonly version: string }): ServedModel =>
    registry.find(request.name, request.version === '' ? undefined : request.version)
  return {
    ServerLive: () => encode(ServerLiveResponseSchema, create(ServerLiveResponseSchema, { live: true })),
    ServerReady: () => encode(ServerReadyResponseSchema, create(ServerReadyResponseSchema, { ready: life.isReady })),
    ModelReady: (bytes) => {
      found(decode(ModelReadyRequestSchema, bytes))
      return encode(ModelReadyResponseSchema, create(ModelReadyResponseSchema, { ready: life.isReady }))
    },
    ServerMetadata: () =>
      encode(
        ServerMetadataResponseSchema,
        create(ServerMetadataResponseSchema, { name, version, extensions: extensionsOf(state.control) }),
      ),
    ModelMetadata: (bytes) => {
      const served = found(decode(ModelMetadataRequestSchema, bytes))
      return encode(ModelMetadataResponseSchema, metadataMessage(served, registry.versions(served.model.name)))
    },
    ModelConfig: (bytes) =>
      encode(ModelConfigResponseSchema, configMessage(found(decode(ModelConfigRequestSchema, bytes)))),
    ModelStatistics: (bytes) => {
      const request = decode(ModelStatisticsRequestSchema, bytes)
      return encode(
        ModelStatisticsResponseSchema,
        statisticsMessage(request.name === '' ? registry.all() : [found(request)]),
      )
    },
    RepositoryIndex: (bytes) => {
      const { ready } = decode(RepositoryIndexRequestSchema, bytes)
      const models = state.control.index(ready)
      return encode(RepositoryIndexResponseSchema, create(RepositoryIndexResponseSchema, { models }))
    },
    RepositoryModelLoad: async (bytes, exchange) => {
      const { modelName, parameters } = decode(RepositoryModelLoadRequestSchema, bytes)
      exchange.model = modelName
      const given = Object.entries(parameters).map(([key, { parameterChoice }]) => [key, parameterChoice.value])
      await state.control.load(
        modelName,
        readOverrides(modelName, Object.fromEntries(given) as Record<string, unknown>),
      )
      return encode(RepositoryModelLoadResponseSchema, create(RepositoryModelLoadResponseSchema, {}))
    },
    RepositoryModelUnload: async (bytes, exchange) => {
      exchange.model = decode(RepositoryModelUnloadRequestSchema, bytes).modelName
      await state.control.unload(exchange.model)
      return encode(RepositoryModelUnloadResponseSchema, create(RepositoryModelUnloadResponseSchema, {}))
    },
    ModelInfer: (bytes, exchange) => {
      const message = readInferMessage(bytes)
      exchange.model = message.modelName
      return infer(state, message, exchange.cancellation, encodeInferMessage)
    },
  }
}

/** Answers the requests of a stream one behind the other. A request that fails is an answer with its error. */
export async function streamInfer(
  state: ServerState,
  call: ServerDuplexStream<Buffer, Buffer>,
  cancellation: Cancellation,
): Promise<void> {
  for await (const bytes of call as AsyncIterable<Buffer>) {
    const answer = create(ModelStreamInferResponseSchema, {})
    let model: string | undefined
    try {
      const message = readInferMessage(bytes)
      model = message.modelName
      const encoded = await infer(state, message, cancellation, (response) => {
        answer.inferResponse = response
        return encode(ModelStreamInferResponseSchema, answer)
      })
      call.write(encoded)
    } catch (error) {
      if (cancellation.isCancelled) return
      state.logError(error, { method: 'gRPC', path: 'ModelStreamInfer' })
      answer.errorMessage = describeFailure(error, model).message
      call.write(encode(ModelStreamInferResponseSchema, answer))
    }
  }
  call.end()
}

const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus

const healthMessage = ({ life }: ServerState): Buffer =>
  encode(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status: life.isReady ? SERVING : NOT_SERVING }))

/** Answers whether the server, or a model, is ready. @throws {ModelNotFoundError} */
export function checkHealth(state: ServerState, bytes: Buffer): Buffer {
  const { service } = decode(HealthCheckRequestSchema, bytes)
  if (service !== '') state.registry.find(service)
  return healthMessage(state)
}

/** Sends whether the server is ready, now and when it changes. */
export function watchHealth(state: ServerState, call: ServerWritableStream<Buffer, Buffer>): void {
  call.write(checkHealth(state, call.request))
  const takeBack = state.life.onEnd(() => call.write(healthMessage(state)))
  call.once('close', takeBack)
}

function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes)
  } catch (error) {
    throw new InvalidRequestError(`the message must be a ${schema.name}`, { cause: error })
  }
}

const encode = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Buffer =>
  Buffer.from(toBinary(schema, message))
