import { ArgumentError, Tensor, TensorType, tensorType } from '@tenon/core'
import { checkName, describe } from '@tenon/core/internal'
import type { Alias } from '../shape/alias.ts'
import { attributeCount } from './read-attributes.ts'
import type { AttributeSchema } from './attribute-types.ts'
import { Bindings } from './bindings.ts'
import { parameterOf, type Parameter, type ParameterSpec } from './parameter.ts'
import { checkAttributeSchema } from './write-attributes.ts'

/** What a target takes and gives, as it is declared. */
export interface TargetDefinition<
  Operands extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Results extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Attributes extends AttributeSchema = AttributeSchema,
> {
  readonly operands: Operands
  readonly results: Results
  /** The types of the attributes, by name; none without it. */
  readonly attrs?: Attributes
  /** Results that lie where operands do. */
  readonly aliases?: readonly Alias[]
}

/** A tensor for each parameter: optional ones may be missing, the remaining one stands for any number. */
export type TensorsFor<Specs extends readonly ParameterSpec[]> = number extends Specs['length']
  ? readonly Tensor[]
  : Specs extends readonly [infer First, ...infer Rest extends readonly ParameterSpec[]]
    ? First extends Parameter<'remaining'>
      ? readonly Tensor[]
      : First extends Parameter<'optional'>
        ? readonly [Tensor?, ...TensorsFor<Rest>]
        : readonly [Tensor, ...TensorsFor<Rest>]
    : readonly []

/**
 * What a target takes and gives, declared once. Made by {@link defineTarget}; calls of it are made by {@link targetCall}, and
 * functions that are it by `registerFunction`.
 */
export class TargetSchema<
  Operands extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Results extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Attributes extends AttributeSchema = AttributeSchema,
> {
  readonly name: string
  readonly definition: TargetDefinition<Operands, Results, Attributes>
  /** @internal */
  readonly operands: readonly Parameter[]
  /** @internal */
  readonly results: readonly Parameter[]
  /** @internal */
  readonly attrs: AttributeSchema

  /** @internal */
  constructor(name: string, definition: TargetDefinition<Operands, Results, Attributes>) {
    this.name = checkName(name, 'name')
    this.definition = definition
    this.operands = checkParameters(definition?.operands, `operands of ${name}`)
    this.results = checkParameters(definition.results, `results of ${name}`)
    const attrs: AttributeSchema = definition.attrs ?? {}
    checkAttributeSchema(attrs, `attrs of ${name}`)
    this.attrs = attrs
  }

  /** @internal the types of tensors, if every call has the same ones and no attributes */
  get exact(): { readonly operands: readonly TensorType[]; readonly results: readonly TensorType[] } | undefined {
    const operands = exactTypes(this.operands)
    const results = exactTypes(this.results)
    if (operands === undefined || results === undefined || attributeCount(this.attrs) > 0) return undefined
    return { operands, results }
  }

  /**
   * The types of the results for these operands, as the declared sizes say.
   *
   * @param operands tensors, or their types.
   * @throws {ArgumentError} if an operand is not as declared, or the operands don't say a size of a result.
   * @example
   * const scale = defineTarget('scale', { operands: [param('f32', ['n'])], results: [param('f32', ['n'])], attrs: { a: 'f32' } })
   * scale.resultTypes([f32([3])]).join() // 'float32[3]'
   */
  resultTypes(operands: readonly (Tensor | TensorType)[]): TensorType[] {
    const bindings = new Bindings(this.name)
    bindAll(bindings, this.operands, typesOf(operands, `operands of ${this.name}`), 'operand')
    return this.results.flatMap((parameter, i) =>
      parameter.kind === 'one' ? [bindings.resolve(parameter, `result ${i}`)] : [],
    )
  }

  /**
   * Checks operands and results against what is declared.
   *
   * @throws {ArgumentError} naming the first that is not as declared, and which size or type it contradicts.
   */
  check(operands: readonly (Tensor | TensorType)[], results: readonly (Tensor | TensorType)[]): void {
    const bindings = new Bindings(this.name)
    bindAll(bindings, this.operands, typesOf(operands, `operands of ${this.name}`), 'operand')
    bindAll(bindings, this.results, typesOf(results, `results of ${this.name}`), 'result')
  }
}

/**
 * Declares what a target takes and gives: checked before each call (the ABI itself checks no sizes), and known to TypeScript.
 *
 * @param name for messages.
 * @throws {ArgumentError | ArgumentRangeError} if a part is no declaration.
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
): TargetSchema<Operands, Results, Attributes> {
  return new TargetSchema(name, definition)
}

function checkParameters(specs: unknown, place: string): readonly Parameter[] {
  if (!Array.isArray(specs)) throw new ArgumentError(`the ${place} must be an array, got ${describe(specs)}`)
  const parameters = specs.map((spec: unknown, i) => parameterOf(spec, `${place}: number ${i}`))
  const order = { one: 0, optional: 1, remaining: 2 } as const
  parameters.forEach(({ kind }, i) => {
    const before = parameters[i - 1]?.kind
    if (before === undefined || (order[before] <= order[kind] && before !== 'remaining')) return
    throw new ArgumentError(`${place}: number ${i} can't stand behind one that is ${before}`, {
      hint: 'first those that are always given, then optional ones, then at most one remaining().',
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

function typesOf(values: unknown, place: string): TensorType[] {
  if (!Array.isArray(values)) throw new ArgumentError(`the ${place} must be an array, got ${describe(values)}`)
  return values.map((value: unknown, i) => {
    if (value instanceof Tensor) return value.type
    if (value instanceof TensorType) return value
    throw new ArgumentError(`${place}: number ${i} must be a tensor or a type, got ${describe(value)}`)
  })
}

function bindAll(
  bindings: Bindings,
  parameters: readonly Parameter[],
  types: readonly TensorType[],
  what: 'operand' | 'result',
): void {
  const least = parameters.filter(({ kind }) => kind === 'one').length
  const most = parameters.at(-1)?.kind === 'remaining' ? Infinity : parameters.length
  if (types.length < least || types.length > most) {
    const wanted = least === most ? `${least}` : most === Infinity ? `at least ${least}` : `${least} to ${most}`
    throw new ArgumentError(`${bindings.target} takes ${wanted} ${what}s, got ${types.length}`)
  }
  types.forEach((type, i) => bindings.bind(parameters[Math.min(i, parameters.length - 1)]!, type, `${what} ${i}`))
}
