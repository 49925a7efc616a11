import { ArgumentError } from '@tenon/core'

/** One step of a pipeline: a model, and the tensors of the pipeline that are its inputs and outputs. */
export interface GraphStep {
  /** The number of the step, from 1. */
  readonly number: number
  readonly model: string
  /** Undefined for the version that answers requests without a version. */
  readonly version: string | undefined
  /** The indices of tensors by the names of the model's inputs. */
  readonly inputs: ReadonlyMap<string, number>
  /** The indices of tensors by the names of the model's outputs. */
  readonly outputs: ReadonlyMap<string, number>
}

/** A tensor of a pipeline. */
export interface GraphTensor {
  readonly name: string
  /** The step that makes it; undefined for an input of the pipeline. */
  readonly producer: number | undefined
  /** The indices of the steps that need it, each once. */
  readonly consumers: readonly number[]
}

/** The steps and tensors of a pipeline. Tensors and steps are named by their places. */
export interface PipelineGraph {
  readonly name: string
  readonly steps: readonly GraphStep[]
  /** The inputs of the pipeline come first. */
  readonly tensors: readonly GraphTensor[]
  /** The tensors that are the outputs of the pipeline, in their order. */
  readonly outputs: readonly number[]
}

/** A step whose options were read once. */
export interface StepNames {
  readonly model: string
  readonly version: string | undefined
  /** The names of tensors by the names of the model's inputs and outputs. */
  readonly inputs: ReadonlyMap<string, string>
  readonly outputs: ReadonlyMap<string, string>
}

interface Tensor {
  readonly name: string
  readonly producer: number | undefined
  readonly consumers: number[]
}

/**
 * Makes the graph of a pipeline.
 *
 * @param inputs the names of its inputs. @param outputs the names of its outputs.
 * @throws {ArgumentError} if a tensor has no origin or two, if nothing uses it, or if steps need each other.
 */
export function makeGraph(
  name: string,
  inputs: readonly string[],
  outputs: readonly string[],
  steps: readonly StepNames[],
): PipelineGraph {
  const fail = (sentence: string, hint: string): ArgumentError =>
    new ArgumentError(`${sentence} in the pipeline ${name}`, { hint })
  const tensors: Tensor[] = []
  const places = new Map<string, number>()
  const add = (tensor: string, producer: number | undefined): void => {
    if (places.has(tensor)) {
      throw fail(
        `the tensor ${quote(tensor)} must be made once, got a second origin`,
        `Rename it among the outputs of ${producer === undefined ? 'a step' : describeStep(steps, producer)}.`,
      )
    }
    places.set(tensor, tensors.length)
    tensors.push({ name: tensor, producer, consumers: [] })
  }
  for (const input of inputs) add(input, undefined)
  for (const [i, step] of steps.entries()) for (const tensor of step.outputs.values()) add(tensor, i)
  for (const [i, step] of steps.entries()) {
    for (const tensor of new Set(step.inputs.values())) {
      const place = places.get(tensor)
      if (place === undefined) {
        throw fail(
          `${describeStep(steps, i)} must have inputs that are made, got ${quote(tensor)}`,
          'Name an input of the pipeline, or an output of a step.',
        )
      }
      tensors[place]!.consumers.push(i)
    }
  }
  const isMade = (output: string): boolean => tensors[places.get(output) ?? -1]?.producer !== undefined
  const missing = outputs.find((output) => !isMade(output))
  if (missing !== undefined) {
    throw fail(`the output ${quote(missing)} must be made by a step`, 'Add it to the outputs of a step.')
  }
  const unused = tensors.find((tensor) => tensor.consumers.length === 0 && !outputs.includes(tensor.name))
  if (unused !== undefined) {
    throw fail(
      `the tensor ${quote(unused.name)} must be an output of the pipeline, or an input of a step, but nothing uses it`,
      'Leave it out.',
    )
  }
  checkOrder(steps, tensors, fail)
  const indices = (names: ReadonlyMap<string, string>): ReadonlyMap<string, number> =>
    new Map(Array.from(names, ([key, tensor]) => [key, places.get(tensor)!]))
  return {
    name,
    tensors,
    outputs: outputs.map((output) => places.get(output)!),
    steps: steps.map((step, i) => ({
      number: i + 1,
      model: step.model,
      version: step.version,
      inputs: indices(step.inputs),
      outputs: indices(step.outputs),
    })),
  }
}

/** @throws {ArgumentError} if there is no order in which each step finds its inputs. */
function checkOrder(
  steps: readonly StepNames[],
  tensors: readonly Tensor[],
  fail: (sentence: string, hint: string) => ArgumentError,
): void {
  const waiting = waitingTensors(steps.length, tensors)
  const outputsOf = new Map<number, Tensor[]>()
  for (const tensor of tensors) {
    if (tensor.producer === undefined) continue
    const own = outputsOf.get(tensor.producer)
    if (own === undefined) outputsOf.set(tensor.producer, [tensor])
    else own.push(tensor)
  }
  const ready = Array.from(steps.keys()).filter((i) => waiting[i] === 0)
  let count = 0
  for (let step = ready.pop(); step !== undefined; step = ready.pop()) {
    count++
    for (const { consumers } of outputsOf.get(step) ?? [])
      for (const consumer of consumers) if (--waiting[consumer]! === 0) ready.push(consumer)
  }
  if (count === steps.length) return
  const stuck = Array.from(steps.keys()).filter((i) => waiting[i]! > 0)
  const named = stuck.slice(0, 5).map((i) => describeStep(steps, i))
  throw fail(
    `the steps must not need each other's outputs, got ${named.join(', ')}${stuck.length > 5 ? ', ...' : ''}`,
    'Break the cycle.',
  )
}

/** The number of tensors that each step waits for: those that other steps make. */
export function waitingTensors(steps: number, tensors: readonly GraphTensor[]): Uint32Array {
  const waiting = new Uint32Array(steps)
  for (const { producer, consumers } of tensors) {
    if (producer !== undefined) for (const consumer of consumers) waiting[consumer]!++
  }
  return waiting
}

const describeStep = (steps: readonly StepNames[], i: number): string => `step ${i + 1} (${steps[i]!.model})`

const quote = (name: string): string => JSON.stringify(name.slice(0, 60))

/** The names of tensors instead of their places. */
export const tensorNames = ({ tensors }: PipelineGraph, places: ReadonlyMap<string, number>): Record<string, string> =>
  Object.fromEntries(Array.from(places, ([key, tensor]) => [key, tensors[tensor]!.name]))
