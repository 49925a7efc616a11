import { ArgumentError, tensorType, type Tensor, type TensorType } from '@tenon/core'
import { checkName, checkOptions, inspectAsText, wrongType } from '@tenon/core/internal'
import type { Alias } from '../shape/alias.ts'
import type { AttributeSchema } from './attribute-types.ts'
import { Bindings } from './bindings.ts'
import { parameterOf, type Parameter, type ParameterSpec } from './parameter.ts'
import { checkAttributeSchema } from './write-attributes.ts'

/** The operands, results and attributes of a target, as they are declared. */
export interface TargetDefinition<
  Operands extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Results extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Attributes extends AttributeSchema = AttributeSchema,
> {
  readonly operands: Operands
  readonly results: Results
  /** The types of the attributes, by name. Default: the target has no attributes. */
  readonly attrs?: Attributes
  /** The results that share memory with operands. */
  readonly aliases?: readonly Alias[]
}

/** The attributes of a declaration, without any if it declares none. */
export type AttributesOf<Definition extends TargetDefinition> = NonNullable<Definition['attrs']>

/** A tensor for each parameter: optional ones may be omitted, the remaining one stands for any number. */
export type TensorsFor<Specs extends readonly ParameterSpec[]> = number extends Specs['length']
  ? readonly Tensor[]
  : Specs extends readonly [infer First, ...infer Rest extends readonly ParameterSpec[]]
    ? First extends Parameter<'remaining'>
      ? readonly Tensor[]
      : First extends Parameter<'optional'>
        ? readonly [Tensor?, ...TensorsFor<Rest>]
        : readonly [Tensor, ...TensorsFor<Rest>]
    : readonly []

/** A declared target. {@link defineTarget} creates it, {@link targetCall} calls it, `registerFunction` implements it. */
export class TargetSchema<Definition extends TargetDefinition = TargetDefinition> {
  readonly name: string
  readonly definition: Definition
  /** @internal */
  readonly operands: readonly Parameter[]
  /** @internal */
  readonly results: readonly Parameter[]
  /** @internal */
  readonly attrs: AttributeSchema

  /** @internal */
  constructor(name: string, definition: Definition) {
    this.name = checkName(name, 'name')
    const known = ['operands', 'results', 'attrs', 'aliases'] as const
    const {
      operands,
      results,
      attrs = {},
    } = checkOptions<TargetDefinition>(definition, known, `the definition of ${name}`)
    this.definition = definition
    this.operands = checkParameters(operands, `operands of ${name}`)
    this.results = checkParameters(results, `results of ${name}`)
    checkAttributeSchema(attrs, `attrs of ${name}`)
    this.attrs = attrs
  }

  /** @internal The types of tensors, if every call has the same types and no attributes. */
  get exact(): { readonly operands: readonly TensorType[]; readonly results: readonly TensorType[] } | undefined {
    const operands = exactTypes(this.operands)
    const results = exactTypes(this.results)
    if (operands === undefined || results === undefined || Object.keys(this.attrs).length > 0) return undefined
    return { operands, results }
  }

  /**
   * Infers the types of the results from the operands and the declared sizes.
   *
   * @param operands tensors, or their types.
   * @throws {ArgumentError} if an operand contradicts the declaration, or the operands do not determine a result.
   * @example
   * const scale = defineTarget('scale', { operands: [param('f32', ['n'])], results: [param('f32', ['n'])], attrs: { a: 'f32' } })
   * scale.resultTypes([f32([3])]).join() // 'float32[3]'
   */
  resultTypes(operands: readonly (Tensor | TensorType)[]): TensorType[] {
    const bindings = new Bindings(this.name)
    bindings.bindAll(this.operands, operands, 'operand')
    return this.results.flatMap((parameter, i) =>
      parameter.kind === 'one' ? [bindings.resolve(parameter, `result ${i}`)] : [],
    )
  }

  /** Checks operands and results against the declaration. @throws {ArgumentError} with the first contradiction. */
  check(operands: readonly (Tensor | TensorType)[], results: readonly (Tensor | TensorType)[]): void {
    const bindings = new Bindings(this.name)
    bindings.bindAll(this.operands, operands, 'operand')
    bindings.bindAll(this.results, results, 'result')
  }

  toString(): string {
    return `TargetSchema ${this.name}(${this.operands.join(', ')}) -> (${this.results.join(', ')})`
  }
}
inspectAsText(TargetSchema)

/**
 * Declares the operands, results and attributes of a target. TypeScript infers their types, and they are checked before each
 * call, because the ABI does not check sizes.
 *
 * @param name the name of the target in messages.
 * @throws {ArgumentError | ArgumentRangeError} if a part of the declaration is invalid.
 * @example
 * const rmsNormTarget = defineTarget('rms_norm', {
 *   operands: [param('f32', ['n', 'd'])],
 *   results: [param('f32', ['n', 'd'])],
 *   attrs: { eps: 'f32' },
 * })
 * const normalize = targetCall(rmsNormTarget, handler)
 * const normalized = normalize([x], { attrs: { eps: 1e-5 } })
 */
export function defineTarget<
  const Operands extends readonly ParameterSpec[],
  const Results extends readonly ParameterSpec[],
  const Attributes extends AttributeSchema = Record<never, never>,
>(
  name: string,
  definition: TargetDefinition<Operands, Results, Attributes>,
): TargetSchema<TargetDefinition<Operands, Results, Attributes>> {
  return new TargetSchema(name, definition)
}

const ORDER = { one: 0, optional: 1, remaining: 2 } as const

function checkParameters(specs: unknown, place: string): readonly Parameter[] {
  if (!Array.isArray(specs)) throw wrongType(`the ${place}`, 'an array', specs)
  const parameters = specs.map((spec: unknown, i) => parameterOf(spec, `${place}: number ${i}`))
  parameters.forEach(({ kind }, i) => {
    const before = parameters[i - 1]?.kind
    if (before === undefined || (ORDER[before] <= ORDER[kind] && before !== 'remaining')) return
    throw new ArgumentError(`${place}: number ${i} cannot follow a parameter that is ${before}`, {
      hint: 'Put the required parameters first, then optional ones, then at most one remaining().',
    })
  })
  return Object.freeze(parameters)
}

function exactTypes(parameters: readonly Parameter[]): TensorType[] | undefined {
  const types = parameters.flatMap(({ kind, choice, shape }) => {
    const isExact = kind === 'one' && choice.dtypes.length === 1 && shape?.every((size) => typeof size === 'number')
    return isExact ? [tensorType(choice.dtypes[0]!, shape as readonly number[])] : []
  })
  return types.length === parameters.length ? types : undefined
}
