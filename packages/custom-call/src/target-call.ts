import type { Tensor, TensorType } from '@tenon/core'
import { wrongType } from '@tenon/core/internal'
import type { RunAsyncOptions } from './async/run-later.ts'
import { callable, callFunction, type ResultOptions, type ResultSpec } from './call/call-function.ts'
import { DEFAULT_FRAMES } from './call/kept-frames.ts'
import type { PreparedCall } from './call/prepared-call.ts'
import type { AttributeSchema, AttributesInput } from './schema/attribute-types.ts'
import type { Parameter, ParameterSpec } from './schema/parameter.ts'
import { TargetSchema, type AttributesOf, type TargetDefinition, type TensorsFor } from './schema/target-schema.ts'
import { writeAttributes } from './schema/write-attributes.ts'
import type { ResourceOptions } from './targets/call-resources.ts'
import type { Alias } from './shape/alias.ts'
import { TypedHandler, type TypedPrepareOptions } from './targets/typed-handler.ts'

/** Attributes, which may be omitted if none is required. */
export type AttributesOption<Attributes extends AttributeSchema> =
  Record<never, never> extends AttributesInput<Attributes>
    ? { readonly attrs?: AttributesInput<Attributes> }
    : { readonly attrs: AttributesInput<Attributes> }

/** The options of a declared target's call. By default, results are inferred from the operands and the declaration. */
export type TargetCallOptions<Attributes extends AttributeSchema> = AttributesOption<Attributes> &
  Partial<ResultOptions<readonly ResultSpec[]>>

/** The types, attributes and resources of a declared target's prepared call. */
export type TargetPrepareOptions<Attributes extends AttributeSchema> = AttributesOption<Attributes> &
  ResourceOptions &
  Pick<TypedPrepareOptions, 'alignment' | 'deviceOrdinal'> & {
    /** The types of the operands, or tensors as examples. */
    readonly operands: readonly ResultSpec[]
    /** The types of the results, or tensors as examples. Default: inferred from the operands and the declaration. */
    readonly results?: readonly ResultSpec[]
  }

type AnyOptions = Partial<TargetCallOptions<AttributeSchema>>

/** The return value of a declared target's call: a single result, or an array of all results. */
export type ResultsFor<Results extends readonly ParameterSpec[]> = Results extends readonly [infer Only]
  ? Only extends Parameter<'optional'> | Parameter<'remaining'>
    ? readonly Tensor[]
    : Tensor
  : TensorsFor<Results>

/** The options as the last argument, which may be omitted if no attribute is required. */
type LastArgument<Attributes extends AttributeSchema, More = unknown> =
  Record<never, never> extends AttributesInput<Attributes>
    ? [options?: TargetCallOptions<Attributes> & More]
    : [options: TargetCallOptions<Attributes> & More]

/** A declared target as a function. */
export interface TargetCall<Definition extends TargetDefinition> {
  /**
   * Checks the operands, allocates the results and calls the kernel. The call frame is reused if the next call has the same
   * types and attributes.
   *
   * @throws {ArgumentError} if an argument violates the declaration. @throws {XlaError} if the kernel fails.
   */
  (
    operands: TensorsFor<Definition['operands']>,
    ...options: LastArgument<AttributesOf<Definition>>
  ): ResultsFor<Definition['results']>
  /** Calls the kernel on a thread of the core. @throws (rejects with) as the call, and as {@link PreparedCall.runAsync}. */
  async(
    operands: TensorsFor<Definition['operands']>,
    ...options: LastArgument<AttributesOf<Definition>, RunAsyncOptions>
  ): Promise<ResultsFor<Definition['results']>>
  readonly schema: TargetSchema<Definition>
  readonly handler: TypedHandler
  /** Prepares a call for the declared tensors. @throws {ArgumentError} if an argument violates the declaration. */
  prepare(
    options: TargetPrepareOptions<AttributesOf<Definition>>,
  ): PreparedCall<TensorsFor<Definition['operands']>, TensorsFor<Definition['results']>>
}

/**
 * Returns a function that calls a typed handler and has the types of a declared target.
 *
 * @param handler a handler from a library or a registry, or the handler of a TypeScript function.
 * @throws {ArgumentError} if an argument has another class.
 * @example
 * const declared = defineTarget('rms_norm', {
 *   operands: [param('f32', ['n', 'd'])],
 *   results: [param('f32', ['n', 'd'])],
 *   attrs: { eps: maybe('f32', 1e-5) },
 * })
 * const normal = targetCall(declared, typedHandler(library, 'rms_norm'))([x])
 */
export function targetCall<Definition extends TargetDefinition>(
  schema: TargetSchema<Definition>,
  handler: TypedHandler,
): TargetCall<Definition> {
  const hint = "Write targetCall(defineTarget('f', { ... }), typedHandler(library, 'f'))."
  if (!(schema instanceof TargetSchema)) throw wrongType('schema', 'a declared target', schema, hint)
  if (!(handler instanceof TypedHandler)) throw wrongType('handler', 'a typed handler', handler, hint)
  const { name, attrs: types } = schema
  const { aliases = [] } = schema.definition
  const limit = handler.stages.includes('instantiate') ? 0 : DEFAULT_FRAMES
  const forms = callFunction({
    extra: 'attrs',
    frames: { limit, gate: handler.gate },
    prepare: (options: TypedPrepareOptions) => handler.prepare({ ...options, aliases }),
  })
  const complete = <Options extends AnyOptions>(operands: readonly ResultSpec[], options: Options) => {
    const results = options.results ?? inPlace(schema.resultTypes(operands), operands, aliases)
    schema.check(operands, results)
    return { ...options, results, attrs: writeAttributes(types, options.attrs, `attrs of ${name}`) }
  }
  const prepare = ({ operands, ...options }: TargetPrepareOptions<AttributeSchema>): PreparedCall =>
    handler.prepare({ ...complete(operands, options), operands, aliases })
  const run = (operands: readonly Tensor[], options: AnyOptions = {}): unknown =>
    forms.call(operands, complete(operands, options))
  const async = async (operands: readonly Tensor[], options: AnyOptions & RunAsyncOptions = {}): Promise<unknown> =>
    forms.async(operands, complete(operands, options))
  return callable(run, name, { async, schema, handler, prepare }) as unknown as TargetCall<Definition>
}

function inPlace(
  types: readonly TensorType[],
  operands: readonly ResultSpec[],
  aliases: readonly Alias[],
): ResultSpec[] {
  return types.map((type, i) => {
    const alias = aliases.find(({ result }) => result === i)
    return alias === undefined ? type : operands[alias.operand]!
  })
}
