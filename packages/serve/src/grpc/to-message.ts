import { create } from '@bufbuild/protobuf'
import {
  DataType,
  ModelConfigResponseSchema,
  ModelInstanceGroup_Kind,
  ModelMetadataResponseSchema,
  ModelStatisticsResponseSchema,
  type ModelConfigResponse,
  type ModelMetadataResponse,
  type ModelStatisticsResponse,
} from '../generated/open_inference_pb.js'
import { platformOf } from '../model/model.ts'
import { tensorNames, type PipelineGraph } from '../pipeline/pipeline-graph.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { SequenceLimits } from '../scheduler/sequence-options.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { Duration } from '../service/statistics.ts'

const wide = (sizes: readonly number[]): bigint[] => sizes.map(BigInt)

const tensorMessage = ({ name, datatype, shape }: TensorSpec) => ({ name, datatype, shape: wide(shape) })

export function metadataMessage({ model }: ServedModel, versions: readonly string[]): ModelMetadataResponse {
  const { name, inputs, outputs } = model
  return create(ModelMetadataResponseSchema, {
    name,
    versions: [...versions],
    platform: platformOf(model),
    inputs: inputs.map(tensorMessage),
    outputs: outputs.map(tensorMessage),
  })
}

export function configMessage({ model }: ServedModel): ModelConfigResponse {
  const { name, inputs, outputs, instances, batching, graph, stream, sequence } = model
  const isBatched = batching.maxBatchSize > 0
  const tensorConfig = ({ name: tensor, datatype, shape }: TensorSpec) => ({
    name: tensor,
    dataType: DataType[(datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`) as keyof typeof DataType],
    dims: wide(isBatched ? shape.slice(1) : shape),
  })
  return create(ModelConfigResponseSchema, {
    config: {
      name,
      platform: platformOf(model),
      backend: graph === undefined ? 'tenon' : '',
      maxBatchSize: batching.maxBatchSize,
      input: inputs.map(tensorConfig),
      output: outputs.map(tensorConfig),
      ...(graph === undefined
        ? { instanceGroup: [{ name, kind: ModelInstanceGroup_Kind.CPU, count: instances }] }
        : { schedulingChoice: { case: 'ensembleScheduling', value: ensembleMessage(graph) } }),
      ...(isBatched ? { schedulingChoice: { case: 'dynamicBatching', value: batchingMessage(batching) } } : {}),
      ...(sequence === undefined
        ? {}
        : { schedulingChoice: { case: 'sequenceBatching', value: sequenceMessage(sequence) } }),
      ...(stream === undefined ? {} : { modelTransactionPolicy: { decoupled: true } }),
    },
  })
}

const sequenceMessage = ({ maxCandidateSequences, maxSequenceIdleMicroseconds }: SequenceLimits) => ({
  maxSequenceIdleMicroseconds: BigInt(maxSequenceIdleMicroseconds),
  strategyChoice: { case: 'oldest', value: { maxCandidateSequences } } as const,
})

const ensembleMessage = (graph: PipelineGraph) => ({
  step: graph.steps.map(({ model, version, inputs, outputs }) => ({
    modelName: model,
    modelVersion: BigInt(version ?? -1),
    inputMap: tensorNames(graph, inputs),
    outputMap: tensorNames(graph, outputs),
  })),
})

const batchingMessage = (batching: ServedModel['model']['batching']) => ({
  preferredBatchSize: [...batching.preferredSizes],
  maxQueueDelayMicroseconds: BigInt(Math.round(1000 * batching.delay)),
  preserveOrdering: batching.preserveOrdering,
  priorityLevels: BigInt(batching.levels),
  defaultPriorityLevel: BigInt(batching.defaultLevel),
})

const duration = ({ count, ns }: Duration) => ({ count: BigInt(count), ns: BigInt(Math.round(ns)) })

export function statisticsMessage(models: readonly ServedModel[]): ModelStatisticsResponse {
  return create(ModelStatisticsResponseSchema, {
    modelStats: models.map(({ model, statistics }) => ({
      name: model.name,
      version: model.version,
      lastInference: BigInt(statistics.lastInference),
      inferenceCount: BigInt(statistics.inferenceCount),
      executionCount: BigInt(statistics.executionCount),
      inferenceStats: {
        success: duration(statistics.durationOf('success')),
        fail: duration(statistics.durationOf('fail')),
        queue: duration(statistics.durationOf('queue')),
        computeInput: duration(statistics.durationOf('computeInput')),
        computeInfer: duration(statistics.durationOf('computeInfer')),
        computeOutput: duration(statistics.durationOf('computeOutput')),
        cacheHit: { count: 0n, ns: 0n },
        cacheMiss: { count: 0n, ns: 0n },
      },
      batchStats: statistics.executionsByRows.map(([rows, count]) => ({
        batchSize: BigInt(rows),
        computeInfer: { count: BigInt(count), ns: 0n },
      })),
    })),
  })
}
