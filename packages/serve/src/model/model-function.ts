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
export type ModelFunction<Signature extends string = string> = (
  inputs: InputsOf<Signature>,
  context: RunContext,
) => Outputs | Promise<Outputs>

/** Runs a model once. Returns the outputs in their order, or a promise of them. */
export type Runner = (
  inputs: readonly ModelTensor[],
  context: ModelContext,
  allocator: NativeAllocator | undefined,
  cancellation?: Cancellation,
) => ModelTensor[] | Promise<ModelTensor[]>
