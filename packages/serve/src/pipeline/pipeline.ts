import { ArgumentError, parseSignature, UnsupportedError, type KernelSignature } from '@tenon/core'
import { checkName, checkOptions, isPlainObject, wrongType } from '@tenon/core/internal'
import {
  addModel,
  checkModelName,
  checkPositive,
  checkTypes,
  checkVersion,
  isModel,
  type Model,
} from '../model/model.ts'
import { onceForEach } from '../model/model-tensor.ts'
import { SCOPES } from '../model/request-memory.ts'
import { describeTensors } from '../model/tensor-spec.ts'
import { readBatching } from '../scheduler/batching-options.ts'
import { makeGraph, type StepNames } from './pipeline-graph.ts'
import type { CheckedSteps, PipelineStep } from './pipeline-step.ts'

/** The options of {@link definePipeline}. */
export interface PipelineOptions<
  Signature extends string = string,
  Steps extends readonly PipelineStep[] = readonly PipelineStep[],
> {
  /** The name in the paths of requests. It must not contain `/`, and must not be `stats`. */
  readonly name: string
  /** Decimal digits. Default: `1`. */
  readonly version?: string
  /** The inputs and outputs in the signature language. They are tensors of the pipeline. */
  readonly signature: Signature
  /** The steps in any order. A step runs as soon as its inputs are there, at the same time as others. */
  readonly steps: Steps
  /** The longest time for all steps together in milliseconds. Default: 30,000. */
  readonly deadline?: number
}

const OPTIONS = ['deadline', 'name', 'signature', 'steps', 'version'] as const
const STEP = ['inputs', 'model', 'outputs', 'version'] as const

/**
 * Defines a model that is a graph of other models of the same server, as Triton's ensembles are. A request of a pipeline is one request of each
 * of its models, and waits in their queues and becomes part of their batches. Tensors go from step to step without a copy if they lie in shared
 * memory, as those of kernels do, and are freed after the last step that needs them.
 *
 * @throws {ArgumentError} if an option is not valid, a tensor has no origin or no use, or steps need each other's outputs. The models are
 * compared with their steps when the server loads the pipeline.
 * @throws {SignatureError} if the signature cannot be read.
 * @example
 * const quadruple = definePipeline({
 *   name: 'quadruple',
 *   signature: '(x: f32[n]) -> (z: f32[n])',
 *   steps: [
 *     { model: double, inputs: { x: 'x' }, outputs: { y: 'twice' } },
 *     { model: double, inputs: { x: 'twice' }, outputs: { y: 'z' } },
 *   ],
 * })
 */
export function definePipeline<const Signature extends string, const Steps extends readonly PipelineStep[]>(
  options: PipelineOptions<Signature, Steps & CheckedSteps<Signature, Steps>>,
): Model<Signature> {
  const given = checkOptions<PipelineOptions>(options as PipelineOptions, OPTIONS)
  const name = checkModelName(given.name)
  const version = checkVersion(given.version ?? '1')
  const text = checkName(given.signature, 'signature')
  const signature = parseSignature(name, text)
  checkNoAttributes(signature)
  const inputs = describeTensors(signature, 'operands')
  const outputs = describeTensors(signature, 'results')
  const names = (specs: typeof inputs): string[] => specs.map((spec) => spec.name)
  return addModel<Signature>(
    Object.freeze({
      name,
      version,
      signature: text as Signature,
      inputs,
      outputs,
      deadline: checkPositive(given.deadline ?? 30_000, 'deadline'),
      // Requests wait for the models of the steps.
      instances: Number.POSITIVE_INFINITY,
      batching: readBatching(0, undefined),
      idempotent: true,
      warmUps: [],
      kernel: undefined,
      graph: makeGraph(name, names(inputs), names(outputs), readSteps(given.steps)),
      memory: SCOPES,
      check: onceForEach((types) => checkTypes(signature, types, {})),
      run: () => {
        throw new UnsupportedError(`the pipeline ${name} runs in a server`)
      },
      stream: undefined,
      sequence: undefined,
    }),
  )
}

function checkNoAttributes({ name, attributes }: KernelSignature): void {
  if (attributes.length === 0) return
  throw new ArgumentError(`the signature of the pipeline ${name} must have no attributes`, {
    hint: 'Set the attributes of kernels in their models.',
  })
}

function readSteps(value: unknown): readonly StepNames[] {
  if (!Array.isArray(value) || value.length === 0) throw wrongType('steps', 'an array with a step or more', value)
  return value.map((one: PipelineStep, i) => {
    const path = `steps[${i}]`
    if (one === undefined) throw wrongType(path, 'a step', one)
    const { model, version, inputs, outputs } = checkOptions<PipelineStep>(one, STEP, path)
    const made = readNames(outputs, `${path}.outputs`)
    if (made.size === 0) throw wrongType(`${path}.outputs`, 'an object with an output or more', outputs)
    return {
      model: isModel(model) ? model.name : checkName(model, `${path}.model`),
      version: version === undefined ? undefined : checkVersion(version),
      inputs: readNames(inputs, `${path}.inputs`),
      outputs: made,
    }
  })
}

function readNames(value: unknown, path: string): ReadonlyMap<string, string> {
  if (!isPlainObject(value))
    throw wrongType(path, 'an object of tensors of the pipeline by tensors of the model', value)
  return new Map(Object.entries(value).map(([key, tensor]) => [key, checkName(tensor, `${path}.${key}`)]))
}
