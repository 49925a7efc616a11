import { create, toBinary, type DescMessage, type MessageShape } from '@bufbuild/protobuf'
import { status, type ServerWritableStream, type StatusObject } from '@grpc/grpc-js'
import { UnsupportedError } from '@tenon/core'
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '../generated/health_pb.js'
import {
  CudaSharedMemoryStatusRequestSchema,
  CudaSharedMemoryStatusResponseSchema,
  CudaSharedMemoryUnregisterResponseSchema,
  ModelConfigRequestSchema,
  ModelConfigResponseSchema,
  ModelMetadataRequestSchema,
  ModelMetadataResponseSchema,
  ModelReadyRequestSchema,
  ModelReadyResponseSchema,
  ModelStatisticsRequestSchema,
  ModelStatisticsResponseSchema,
  RepositoryIndexRequestSchema,
  RepositoryIndexResponseSchema,
  RepositoryModelLoadRequestSchema,
  RepositoryModelLoadResponseSchema,
  RepositoryModelUnloadRequestSchema,
  RepositoryModelUnloadResponseSchema,
  ServerLiveResponseSchema,
  ServerMetadataResponseSchema,
  ServerReadyResponseSchema,
  SystemSharedMemoryRegisterRequestSchema,
  SystemSharedMemoryRegisterResponseSchema,
  SystemSharedMemoryStatusRequestSchema,
  SystemSharedMemoryStatusResponseSchema,
  SystemSharedMemoryUnregisterRequestSchema,
  SystemSharedMemoryUnregisterResponseSchema,
} from '../generated/open_inference_pb.js'
import type { Caller } from '../access/caller.ts'
import { ModelUnavailableError } from '../errors.ts'
import { extensionsOf } from '../protocol/extensions.ts'
import { readOverrides } from '../repository/read-overrides.ts'
import { recordOf } from './grpc-stream.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { ServerState } from '../service/server-state.ts'
import { unknownRegion } from '../shared-memory/regions.ts'
import { decodeMessage } from './decode-message.ts'
import type { Message } from './encode-response.ts'
import { infer, type GrpcExchange } from './infer.ts'
import { configMessage, metadataMessage, statisticsMessage } from './to-message.ts'

/** Answers the bytes of one message with one. @throws (or rejects with) the error to answer. */
export type UnaryHandler = (bytes: Buffer, exchange: GrpcExchange) => Message | Promise<Message>

/** The methods with one request and one answer, by name. */
export function unaryHandlers(state: ServerState): Readonly<Record<string, UnaryHandler>> {
  const { life, name, version, registry } = state
  const found = (
    request: { readonly name: string; readonly version: string },
    { record: { caller } }: GrpcExchange,
  ): ServedModel => {
    caller.check('infer', request.name)
    return registry.find(request.name, request.version === '' ? undefined : request.version)
  }
  return {
    ServerLive: () => encode(ServerLiveResponseSchema, create(ServerLiveResponseSchema, { live: true })),
    ServerReady: () => encode(ServerReadyResponseSchema, create(ServerReadyResponseSchema, { ready: life.isReady })),
    ModelReady: (bytes, exchange) => {
      const served = loadedModel(() => found(decodeMessage(ModelReadyRequestSchema, bytes), exchange))
      const ready = served !== undefined && life.isReadyFor(served)
      return encode(ModelReadyResponseSchema, create(ModelReadyResponseSchema, { ready }))
    },
    ServerMetadata: () =>
      encode(
        ServerMetadataResponseSchema,
        create(ServerMetadataResponseSchema, { name, version, extensions: extensionsOf(state) }),
      ),
    ModelMetadata: (bytes, exchange) => {
      const served = found(decodeMessage(ModelMetadataRequestSchema, bytes), exchange)
      return encode(ModelMetadataResponseSchema, metadataMessage(served, registry.versions(served.model.name)))
    },
    ModelConfig: (bytes, exchange) =>
      encode(ModelConfigResponseSchema, configMessage(found(decodeMessage(ModelConfigRequestSchema, bytes), exchange))),
    ModelStatistics: (bytes, exchange) => {
      const { caller } = exchange.record
      const request = decodeMessage(ModelStatisticsRequestSchema, bytes)
      return encode(
        ModelStatisticsResponseSchema,
        statisticsMessage(
          request.name === ''
            ? registry.all().filter(({ model }) => caller.sees(model.name))
            : [found(request, exchange)],
        ),
      )
    },
    RepositoryIndex: (bytes, { record: { caller } }) => {
      const { ready } = decodeMessage(RepositoryIndexRequestSchema, bytes)
      const models = state.control.index(ready).filter((line) => caller.sees(line.name))
      return encode(RepositoryIndexResponseSchema, create(RepositoryIndexResponseSchema, { models }))
    },
    RepositoryModelLoad: async (bytes, exchange) => {
      const { modelName, parameters } = decodeMessage(RepositoryModelLoadRequestSchema, bytes)
      exchange.model = modelName
      exchange.record.caller.check('load', modelName)
      const given = Object.entries(parameters).map(([key, { parameterChoice }]) => [key, parameterChoice.value])
      await state.control.load(
        modelName,
        readOverrides(modelName, Object.fromEntries(given) as Record<string, unknown>),
      )
      return encode(RepositoryModelLoadResponseSchema, create(RepositoryModelLoadResponseSchema, {}))
    },
    RepositoryModelUnload: async (bytes, exchange) => {
      exchange.model = decodeMessage(RepositoryModelUnloadRequestSchema, bytes).modelName
      exchange.record.caller.check('load', exchange.model)
      await state.control.unload(exchange.model)
      return encode(RepositoryModelUnloadResponseSchema, create(RepositoryModelUnloadResponseSchema, {}))
    },
    SystemSharedMemoryStatus: (bytes) => {
      const { name: region } = decodeMessage(SystemSharedMemoryStatusRequestSchema, bytes)
      const regions = state.regions.list(region === '' ? undefined : region).map((one) => {
        const { key, offset, byteSize } = one
        return [one.name, { name: one.name, key, offset: BigInt(offset), byteSize: BigInt(byteSize) }]
      })
      return encode(
        SystemSharedMemoryStatusResponseSchema,
        create(SystemSharedMemoryStatusResponseSchema, { regions: Object.fromEntries(regions) }),
      )
    },
    SystemSharedMemoryRegister: (bytes) => {
      const region = decodeMessage(SystemSharedMemoryRegisterRequestSchema, bytes)
      state.regions.register(region.name, region.key, Number(region.offset), Number(region.byteSize))
      return encode(SystemSharedMemoryRegisterResponseSchema, create(SystemSharedMemoryRegisterResponseSchema, {}))
    },
    SystemSharedMemoryUnregister: (bytes) => {
      const { name: region } = decodeMessage(SystemSharedMemoryUnregisterRequestSchema, bytes)
      state.regions.unregister(region === '' ? undefined : region)
      return encode(SystemSharedMemoryUnregisterResponseSchema, create(SystemSharedMemoryUnregisterResponseSchema, {}))
    },
    CudaSharedMemoryStatus: (bytes) => {
      const { name: region } = decodeMessage(CudaSharedMemoryStatusRequestSchema, bytes)
      if (region !== '') throw unknownRegion(region)
      return encode(CudaSharedMemoryStatusResponseSchema, create(CudaSharedMemoryStatusResponseSchema, {}))
    },
    CudaSharedMemoryRegister: () => {
      throw new UnsupportedError('this server shares no memory of GPUs with its clients')
    },
    // Clients unregister before they register, so there is nothing to do, and nothing wrong.
    CudaSharedMemoryUnregister: () =>
      encode(CudaSharedMemoryUnregisterResponseSchema, create(CudaSharedMemoryUnregisterResponseSchema, {})),
    ModelInfer: (bytes, exchange) => infer(state, bytes, exchange),
  }
}

/** Returns a model, or undefined for one that is not loaded. @throws {ModelNotFoundError} */
function loadedModel(find: () => ServedModel): ServedModel | undefined {
  try {
    return find()
  } catch (error) {
    if (error instanceof ModelUnavailableError) return undefined
    throw error
  }
}

/** The end of a call that would go on for as long as its client wants. */
export const closing: Partial<StatusObject> = { code: status.UNAVAILABLE, details: 'the server is closing' }

const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus

const healthMessage = ({ life }: ServerState): Buffer =>
  encode(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status: life.isReady ? SERVING : NOT_SERVING }))

/** Answers whether the server, or a model, is ready. @throws {ModelNotFoundError} */
export function checkHealth(state: ServerState, bytes: Buffer, caller: Caller): Buffer {
  const { service } = decodeMessage(HealthCheckRequestSchema, bytes)
  if (service !== '') {
    caller.check('infer', service)
    state.registry.find(service)
  }
  return healthMessage(state)
}

/** Sends whether the server is ready, now and when it changes, until the server closes. */
export function watchHealth(state: ServerState, call: ServerWritableStream<Buffer, Buffer>): void {
  call.write(checkHealth(state, call.request, recordOf(call).caller))
  call.once(
    'close',
    state.life.onEnd(() => call.write(healthMessage(state))),
  )
  call.once(
    'close',
    state.life.onClose(() => call.emit('error', closing)),
  )
}

const encode = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Buffer =>
  Buffer.from(toBinary(schema, message))
