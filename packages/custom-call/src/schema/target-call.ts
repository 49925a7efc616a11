import { ArgumentError, type NativeAllocator, type Tensor, type TensorType } from '@tenon/core'
import { describe } from '@tenon/core/internal'
import { callFunction, type ResultSpec } from '../call/call-function.ts'
import type { PreparedCall } from '../call/prepared-call.ts'
import type { ResourceOptions } from '../targets/call-resources.ts'
import { TypedHandler } from '../targets/typed-handler.ts'
import type { AttributeSchema, AttributesInput } from './attribute-types.ts'
import type { Parameter, ParameterSpec } from './parameter.ts'
import { TargetSchema, type TensorsFor } from './target-schema.ts'
import { writeAttributes } from './write-attributes.ts'

/** Attributes, which may be left out if none must be given. */
export type AttributesOption<Attributes extends AttributeSchema> =
  Record<never, never> extends AttributesInput<Attributes>
    ? { readonly attrs?: AttributesInput<Attributes> }
    : { readonly attrs: AttributesInput<Attributes> }

/** What is said at each call of a target, besides its operands. */
export type TargetCallOptions<Attributes extends AttributeSchema> = AttributesOption<Attributes> & {
  /** Tensors to write into, or types; without it they are what the operands and the declaration say. */
  readonly results?: readonly ResultSpec[]
  /** Where the memory of results comes from that are not given; the default is freed by the garbage collector. */
  readonly allocator?: NativeAllocator
  /** What the addresses of all tensors must be a multiple of, in bytes. */
  readonly alignment?: number
}

/** What a call of a target is prepared for. */
export type TargetPrepareOptions<Attributes extends AttributeSchema> = AttributesOption<Attributes> &
  ResourceOptions & {
    /** The operands' types, or tensors that stand for them. */
    readonly operands: readonly (Tensor | TensorType)[]
    /** Those of the results; without it what the operands and the declaration say. */
    readonly results?: readonly (Tensor | TensorType)[]
    readonly alignment?: number
    readonly deviceOrdinal?: number
  }

/** What a call returns: its only result, or all of them in order. */
export type ResultsFor<Results extends readonly ParameterSpec[]> = Results extends readonly [infer Only]
  ? Only extends Parameter<'optional'> | Parameter<'remaining'>
    ? readonly Tensor[]
    : Tensor
  : TensorsFor<Results>

/** A declared target as a function. */
export interface TargetCall<
  Operands extends readonly ParameterSpec[],
  Results extends readonly ParameterSpec[],
  Attributes extends AttributeSchema,
> {
  /**
   * Checks the operands, allocates the results and calls the kernel. The frame is kept for the next call that is alike.
   *
   * @throws {ArgumentError} if something is not as declared. @throws {XlaError} if the kernel fails.
   */
  (
    operands: TensorsFor<Operands>,
    ...options: Record<never, never> extends AttributesInput<Attributes>
      ? [options?: TargetCallOptions<Attributes>]
      : [options: TargetCallOptions<Attributes>]
  ): ResultsFor<Results>
  readonly schema: TargetSchema<Operands, Results, Attributes>
  readonly handler: TypedHandler
  /** Prepares a call: its `run`, `bind` and `runAsync` take tensors as declared. @throws {ArgumentError} as the call */
  prepare(options: TargetPrepareOptions<Attributes>): PreparedCall<TensorsFor<Operands>, TensorsFor<Results>>
}

/**
 * A typed handler as the target that is declared for it.
 *
 * @param handler of a library, of a registry, or of a TypeScript function.
 * @throws {ArgumentError} if one of them is none.
 * @example
 * const declared = defineTarget('rms_norm', {
 *   operands: [param('f32', ['n', 'd'])],
 *   results: [param('f32', ['n', 'd'])],
 *   attrs: { eps: maybe('f32', 1e-5) },
 * })
 * const normal = targetCall(declared, typedHandler(library, 'rms_norm'))([x])
 */
export function targetCall<
  Operands extends readonly ParameterSpec[],
  Results extends readonly ParameterSpec[],
  Attributes extends AttributeSchema,
>(
  schema: TargetSchema<Operands, Results, Attributes>,
  handler: TypedHandler,
): TargetCall<Operands, Results, Attributes> {
  if (!(schema instanceof TargetSchema && handler instanceof TypedHandler)) {
    throw new ArgumentError(
      `a target needs its declaration and a typed handler, got ${describe(schema)}, ${describe(handler)}`,
      {
        hint: "write targetCall(defineTarget('f', { ... }), typedHandler(library, 'f')).",
      },
    )
  }
  const { name, attrs: types } = schema
  const { aliases = [] } = schema.definition
  const prepareWith: TypedHandler['prepare'] = (options) => handler.prepare({ ...options, aliases })
  const call = callFunction(prepareWith, !handler.stages.includes('instantiate'))
  const prepare = ({ operands, results, attrs, ...rest }: TargetPrepareOptions<AttributeSchema>): PreparedCall => {
    const given = results ?? schema.resultTypes(operands)
    schema.check(operands, given)
    return prepareWith({ ...rest, operands, results: given, attrs: writeAttributes(types, attrs, `attrs of ${name}`) })
  }
  const run = (
    operands: readonly Tensor[],
    { results, attrs, ...rest }: Partial<TargetCallOptions<AttributeSchema>> = {},
  ): unknown => {
    const given = results ?? inPlace(schema.resultTypes(operands), operands, aliases)
    schema.check(operands, given)
    return call(operands, { ...rest, results: given, attrs: writeAttributes(types, attrs, `attrs of ${name}`) })
  }
  return Object.assign(run, { schema, handler, prepare }) as unknown as TargetCall<Operands, Results, Attributes>
}

/** Results that lie where operands do are those operands. */
function inPlace(
  types: readonly TensorType[],
  operands: readonly Tensor[],
  aliases: readonly { readonly operand: number; readonly result: number }[],
): ResultSpec[] {
  return types.map((type, i) => {
    const alias = aliases.find(({ result }) => result === i)
    return alias === undefined ? type : operands[alias.operand]!
  })
}
