import type { TensorSpec } from '../model/tensor-spec.ts'
import { platformOf } from '../model/model.ts'
import { tensorNames, type GraphStep, type PipelineGraph } from '../pipeline/pipeline-graph.ts'
import { integerForJson } from '../protocol/raw-json.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { Duration, ModelStatistics } from '../service/statistics.ts'

const tensorMetadata = ({ name, datatype, shape }: TensorSpec) => ({ name, datatype, shape })

/** The answer to `GET /v2/models/{model}`. */
export function modelMetadata({ model }: ServedModel, versions: readonly string[]): object {
  const { name, inputs, outputs } = model
  return {
    name,
    versions,
    platform: platformOf(model),
    inputs: inputs.map(tensorMetadata),
    outputs: outputs.map(tensorMetadata),
  }
}

/** Dimensions in configurations lack the first axis of models with batches. */
const tensorConfig = ({ name, datatype, shape }: TensorSpec, isBatched: boolean) => ({
  name,
  data_type: datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`,
  dims: isBatched ? shape.slice(1) : shape,
})

/** The answer to `GET /v2/models/{model}/config`, in the names of Triton's `model_config.proto`. */
export function modelConfig({ model }: ServedModel): object {
  const { name, inputs, outputs, instances, batching, graph, stream, sequence } = model
  const isBatched = batching.maxBatchSize > 0
  const dynamic = {
    preferred_batch_size: batching.preferredSizes,
    max_queue_delay_microseconds: Math.round(1000 * batching.delay),
    preserve_ordering: batching.preserveOrdering,
    priority_levels: batching.levels,
    default_priority_level: batching.defaultLevel,
  }
  return {
    name,
    platform: platformOf(model),
    backend: graph === undefined ? 'tenon' : '',
    max_batch_size: batching.maxBatchSize,
    input: inputs.map((spec) => tensorConfig(spec, isBatched)),
    output: outputs.map((spec) => tensorConfig(spec, isBatched)),
    ...(isBatched ? { dynamic_batching: dynamic } : {}),
    ...(sequence === undefined
      ? {}
      : {
          sequence_batching: {
            max_sequence_idle_microseconds: sequence.maxSequenceIdleMicroseconds,
            oldest: { max_candidate_sequences: sequence.maxCandidateSequences },
          },
        }),
    ...(stream === undefined ? {} : { model_transaction_policy: { decoupled: true } }),
    ...(graph === undefined
      ? { instance_group: [{ name, kind: 'KIND_CPU', count: instances }] }
      : { ensemble_scheduling: { step: graph.steps.map((step) => stepConfig(graph, step)) } }),
  }
}

/** A step in the words of Triton's `ModelEnsembling`. The version -1 is that of requests without a version. */
function stepConfig(graph: PipelineGraph, { model, version, inputs, outputs }: GraphStep): object {
  return {
    model_name: model,
    model_version: integerForJson(BigInt(version ?? -1)),
    input_map: tensorNames(graph, inputs),
    output_map: tensorNames(graph, outputs),
  }
}

/** Triton's clients read whole nanoseconds. */
const duration = ({ count, ns }: Duration) => ({ count, ns: Math.round(ns) })

/** The times of a step of a pipeline, which Triton does not have. */
const stepStatistics = ({ number, model }: GraphStep, statistics: ModelStatistics): object => ({
  step: number,
  model_name: model,
  success: duration(statistics.durationOfStep(number, 'success')),
  fail: duration(statistics.durationOfStep(number, 'fail')),
  queue: duration(statistics.durationOfStep(number, 'queue')),
  compute_infer: duration(statistics.durationOfStep(number, 'computeInfer')),
})

/** One entry of the answer to `GET /v2/models/stats`. */
export function modelStatistics({ model, statistics }: ServedModel): object {
  return {
    name: model.name,
    version: model.version,
    last_inference: statistics.lastInference,
    inference_count: statistics.inferenceCount,
    execution_count: statistics.executionCount,
    inference_stats: {
      success: duration(statistics.durationOf('success')),
      fail: duration(statistics.durationOf('fail')),
      queue: duration(statistics.durationOf('queue')),
      compute_input: duration(statistics.durationOf('computeInput')),
      compute_infer: duration(statistics.durationOf('computeInfer')),
      compute_output: duration(statistics.durationOf('computeOutput')),
      cache_hit: { count: 0, ns: 0 },
      cache_miss: { count: 0, ns: 0 },
    },
    ...(model.graph === undefined
      ? {}
      : { step_stats: model.graph.steps.map((step) => stepStatistics(step, statistics)) }),
    batch_stats: statistics.executionsByRows.map(([rows, count]) => ({ batch_size: rows, compute_infer: { count } })),
  }
}
