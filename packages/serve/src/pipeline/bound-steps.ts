import { ArgumentError, type TenonError } from '@tenon/core'
import { ModelNotFoundError, ModelUnavailableError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { GraphStep, PipelineGraph } from './pipeline-graph.ts'
import type { StepModel, StepModels } from './step-model.ts'

/** A step, and the version of its model that runs. */
export interface BoundStep {
  readonly step: GraphStep
  readonly served: StepModel
  /** The tensors of the pipeline in the order of the inputs of the model. */
  readonly inputs: readonly number[]
  /** The outputs of the model that are tensors of the pipeline, by their places. */
  readonly outputs: readonly { readonly from: number; readonly to: number }[]
}

/** Finds the models of the steps of a pipeline. */
export class StepBinder {
  readonly #model: Model
  readonly #graph: PipelineGraph
  readonly #models: StepModels
  /** The models that were compared with the names of a step. */
  readonly #bound: readonly WeakMap<StepModel, BoundStep>[]

  constructor(model: Model, graph: PipelineGraph, models: StepModels) {
    this.#model = model
    this.#graph = graph
    this.#models = models
    this.#bound = graph.steps.map(() => new WeakMap())
  }

  /** The models of the next request. @throws {ModelUnavailableError} if a model is not loaded, or does not fit. */
  next(): BoundStep[] {
    return this.#graph.steps.map((step) => this.#bind(step, () => this.#models.next(step.model, step.version)))
  }

  /** The models that questions about them are about. @throws {ModelUnavailableError} */
  find(): BoundStep[] {
    return this.#graph.steps.map((step) => this.#bind(step, () => this.#models.find(step.model, step.version)))
  }

  /** Why requests fail; undefined if they need not. */
  get fault(): string | undefined {
    try {
      const faulty = this.find().find(({ served }) => served.fault !== undefined)
      return faulty && `the model ${faulty.step.model} of step ${faulty.step.number} cannot run: ${faulty.served.fault}`
    } catch (error) {
      return (error as TenonError).sentence
    }
  }

  /**
   * Compares the steps with their models.
   *
   * @throws {ModelUnavailableError} if a model is not loaded, or its tensors have other names.
   * @throws {ArgumentError} if a tensor does not fit the step that needs it, or the pipeline is a step of itself.
   */
  check(): void {
    const steps = this.find()
    const { inputs, outputs, name } = this.#model
    const specs: (TensorSpec | undefined)[] = inputs.map((spec) => spec)
    const origins: string[] = inputs.map(() => `the pipeline ${name}`)
    for (const { step, served, outputs: made } of steps) {
      for (const { from, to } of made) {
        specs[to] = served.model.outputs[from]!
        origins[to] = `step ${step.number} (${step.model})`
      }
    }
    const checkFit = (tensor: number, wanted: TensorSpec, user: string): void => {
      const spec = specs[tensor]!
      if (fits(spec, wanted)) return
      throw new ArgumentError(
        `the tensor ${this.#graph.tensors[tensor]!.name} of the pipeline ${name} must be ${describe(wanted)} for ${user}, but ${origins[tensor]} makes ${describe(spec)}`,
      )
    }
    for (const { step, served, inputs: needed } of steps) {
      for (const [i, tensor] of needed.entries())
        checkFit(tensor, served.model.inputs[i]!, `step ${step.number} (${step.model})`)
    }
    for (const [i, tensor] of this.#graph.outputs.entries()) checkFit(tensor, outputs[i]!, `the output of the pipeline`)
    checkNoLoop(name, steps)
  }

  #bind(step: GraphStep, find: () => StepModel): BoundStep {
    const { name } = this.#graph
    let served: StepModel
    try {
      served = find()
    } catch (error) {
      const version = step.version === undefined ? '' : ` in version ${step.version}`
      const isUnknown = error instanceof ModelNotFoundError
      throw new ModelUnavailableError(
        `the pipeline ${name} needs the model ${step.model}${version}, which ${isUnknown ? 'does not exist' : 'is not loaded'}`,
        {
          hint: isUnknown
            ? `Add the model, or correct step ${step.number} of the pipeline.`
            : 'Load it, or send the request again later.',
          cause: error,
        },
      )
    }
    const known = this.#bound[step.number - 1]!
    const bound = known.get(served)
    if (bound !== undefined) return bound
    const made = bindStep(name, step, served)
    known.set(served, made)
    return made
  }
}

/** @throws {ModelUnavailableError} if a step does not have the names of its model. */
function bindStep(pipeline: string, step: GraphStep, served: StepModel): BoundStep {
  const { model } = served
  const refuse = (sentence: string, hint: string): ModelUnavailableError =>
    new ModelUnavailableError(`step ${step.number} of the pipeline ${pipeline} ${sentence}`, { hint })
  const fail = (sentence: string, specs: readonly TensorSpec[]): ModelUnavailableError =>
    refuse(sentence, `The model ${model.name} has ${specs.map(({ name }) => name).join(', ')}.`)
  if (model.stream !== undefined) {
    throw refuse(
      `must not be the model ${model.name}, which answers with streams`,
      'Leave it out, and let clients send the outputs of the pipeline to it, or let its function run the other steps.',
    )
  }
  if (model.sequence !== undefined) {
    throw refuse(
      `must not be the model ${model.name}, which has sequences`,
      'Leave it out, and let clients send the outputs of the pipeline to it with their sequence_id.',
    )
  }
  const unknownIn = (names: ReadonlyMap<string, number>, specs: readonly TensorSpec[]): string | undefined =>
    [...names.keys()].find((name) => !specs.some((spec) => spec.name === name))
  const input = unknownIn(step.inputs, model.inputs)
  if (input !== undefined) throw fail(`must have inputs of its model, got ${JSON.stringify(input)}`, model.inputs)
  const output = unknownIn(step.outputs, model.outputs)
  if (output !== undefined) throw fail(`must have outputs of its model, got ${JSON.stringify(output)}`, model.outputs)
  return {
    step,
    served,
    inputs: model.inputs.map(({ name }) => {
      const tensor = step.inputs.get(name)
      if (tensor === undefined) throw fail(`must have all inputs of its model, but lacks ${name}`, model.inputs)
      return tensor
    }),
    outputs: Array.from(step.outputs, ([name, to]) => ({
      from: model.outputs.findIndex((spec) => spec.name === name),
      to,
    })),
  }
}

/** Whether a tensor of one description can be one of the other. */
const fits = (made: TensorSpec, wanted: TensorSpec): boolean =>
  made.dtype === wanted.dtype &&
  made.stringLayout === wanted.stringLayout &&
  made.shape.length === wanted.shape.length &&
  made.shape.every((size, axis) => size === -1 || wanted.shape[axis] === -1 || size === wanted.shape[axis])

const describe = ({ dtype, stringLayout, shape }: TensorSpec): string =>
  `${dtype}${stringLayout === undefined || stringLayout === 'tf' ? '' : ` (${stringLayout})`}[${shape.map((size) => (size === -1 ? '?' : size)).join(', ')}]`

/** @throws {ArgumentError} if the steps of the steps lead to the pipeline itself. */
function checkNoLoop(name: string, steps: readonly BoundStep[]): void {
  const seen = new Set<StepModel>()
  const next = steps.map(({ served }) => served)
  for (let served = next.pop(); served !== undefined; served = next.pop()) {
    if (seen.has(served)) continue
    seen.add(served)
    if (served.model.name === name) {
      throw new ArgumentError(`the pipeline ${name} must not be a step of itself`, { hint: 'Break the cycle.' })
    }
    for (const step of served.stepModels()) next.push(step)
  }
}
