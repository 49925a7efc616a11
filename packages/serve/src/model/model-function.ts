import type { NativeAllocator } from '@tenon/core'
import type { Cancellation } from '../service/cancellation.ts'
import type { ModelTensor } from './model-tensor.ts'
import type { ModelContext, RunContext } from './run-context.ts'
import type { InputsOf } from './signature-types.ts'

/** The outputs of a model by name, or the output itself if there is only one. */
export type Outputs = ModelTensor | Readonly<Record<string, ModelTensor>>

/**
 * A function that answers requests. It gets the inputs by name, and returns the outputs by name, or the output itself if there is
 * only one. The memory of the inputs is closed after the answer: copy what the function keeps, for example with `x.copy()`.
 */
export type ModelFunction<Signature extends string = string, State = never> = (
  inputs: InputsOf<Signature>,
  context: RunContext<State>,
) => Outputs | Promise<Outputs>

/**
 * A function that answers each request any number of times: an async generator. Each value that it yields is one answer. The next one is
 * asked for when the client has taken the one before, and a client that leaves ends the generator at its `yield`.
 */
export type ModelStream<Signature extends string = string, State = never> = (
  inputs: InputsOf<Signature>,
  context: RunContext<State>,
) => AsyncIterable<Outputs>

/** Runs a model once. Returns the outputs in their order, or a promise of them. */
export type Runner = (
  inputs: readonly ModelTensor[],
  context: ModelContext,
  allocator: NativeAllocator | undefined,
  cancellation?: Cancellation,
) => ModelTensor[] | Promise<ModelTensor[]>

/** Starts a stream of answers. Each element has the outputs in their order. */
export type StreamRunner = (
  inputs: readonly ModelTensor[],
  context: ModelContext,
) => AsyncIterator<ModelTensor[], unknown>
