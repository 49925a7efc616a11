import type { Canonical, DTypeName } from '@tenon/core'
import type { Model } from '../model/model.ts'
import type { OperandTypes, ResultTypes } from '../model/signature-types.ts'

/** A step of a pipeline. */
export interface PipelineStep {
  /** The model, or its name. A model stands for its name, and gives the types that the compiler checks. */
  readonly model: Model | string
  /** The version that runs. By default the one that answers requests without a version. */
  readonly version?: string
  /** The tensors of the pipeline by the names of the model's inputs, all of which must be there. */
  readonly inputs: Readonly<Record<string, string>>
  /** The tensors of the pipeline by the names of the model's outputs. Those that are missing are dropped. */
  readonly outputs: Readonly<Record<string, string>>
}

/** The signature of the model of a step; `string` if only its name is known. */
type SignatureOf<Step> = Step extends { readonly model: Model<infer Signature> } ? Signature : string

/** The element types of the tensors that a step makes, by name. */
type MadeBy<Step> = Step extends { readonly outputs: infer Outputs }
  ? {
      readonly [Output in keyof Outputs as Outputs[Output] & string]: Output extends keyof ResultTypes<
        SignatureOf<Step>
      >
        ? ResultTypes<SignatureOf<Step>>[Output]
        : string
    }
  : unknown

type MadeByAll<Steps> = Steps extends readonly [infer First, ...infer Rest]
  ? MadeBy<First> & MadeByAll<Rest>
  : Steps extends readonly []
    ? unknown
    : Readonly<Record<string, string>>

/** The element types of all tensors of a pipeline by name. */
type TensorTypes<Signature extends string, Steps> = OperandTypes<Signature> & MadeByAll<Steps>

type CanonicalOf<Type> = Type extends DTypeName ? Canonical<Type> : Type

/** The names of the tensors that can have an element type. A type that is not known, `string`, can be every one. */
type NamesOfType<Tensors, Type> = {
  [Name in keyof Tensors]: string extends Tensors[Name] | Type
    ? Name
    : CanonicalOf<Tensors[Name]> extends CanonicalOf<Type>
      ? Name
      : never
}[keyof Tensors]

/** A step whose inputs are all there and have the element types of the model, and whose outputs are those of the model. */
type CheckedStep<Step, Tensors> = Pick<PipelineStep, 'model' | 'version'> & {
  readonly inputs: {
    readonly [Input in keyof OperandTypes<SignatureOf<Step>>]: NamesOfType<
      Tensors,
      OperandTypes<SignatureOf<Step>>[Input]
    >
  }
  readonly outputs: { readonly [Output in keyof ResultTypes<SignatureOf<Step>>]?: string }
}

/** The outputs of a pipeline that no step makes with their element types. */
type Missing<Signature extends string, Tensors> = {
  [Output in keyof ResultTypes<Signature>]: Output extends NamesOfType<Tensors, ResultTypes<Signature>[Output]>
    ? never
    : Output
}[keyof ResultTypes<Signature>]

/** The steps that the compiler accepts for a pipeline with a signature. */
export type CheckedSteps<Signature extends string, Steps extends readonly PipelineStep[]> = [
  Missing<Signature, TensorTypes<Signature, Steps>>,
] extends [never]
  ? { readonly [Index in keyof Steps]: CheckedStep<Steps[Index], TensorTypes<Signature, Steps>> }
  : { readonly error: `no step makes the output ${Missing<Signature, TensorTypes<Signature, Steps>> & string}` }
