import { formatSignature, parseSignature, type KernelSignature, type Parameter, type Tensor } from '@tenon/core'
import { checkName, checkOptions, wrongType } from '@tenon/core/internal'
import type { Alias } from '../shape/alias.ts'
import { attributeParameters } from './attribute-parameters.ts'
import type { AttributeSchema } from './attribute-types.ts'
import { parameterOf, type DefinedParameter, type ElementChoice, type ParameterSpec } from './parameter.ts'

/** The results of a definition, in order, or by name. */
export type ResultSpecs = readonly ParameterSpec[] | { readonly [name: string]: ParameterSpec }

/** The operands, results and attributes of a target, as they are declared. */
export interface TargetDefinition<
  Operands extends readonly ParameterSpec[] = readonly ParameterSpec[],
  Results extends ResultSpecs = ResultSpecs,
  Attributes extends AttributeSchema = AttributeSchema,
> {
  readonly operands: Operands
  /** The results by name, or an array of results, whose names are `result0`, `result1`, and so on. */
  readonly results: Results
  /** The types of the attributes, by name. Default: the target has no attributes. */
  readonly attrs?: Attributes
  /**
   * The results that share memory with operands, which the kernel overwrites. Operands are donated: the result is the tensor of
   * the operand.
   */
  readonly aliases?: readonly Alias[]
}

/** The attributes of a declaration, without any if it declares none. */
export type AttributesOf<Definition extends TargetDefinition> = NonNullable<Definition['attrs']>

/** A tensor for each parameter: optional ones may be omitted, the remaining one stands for any number. */
export type TensorsFor<Specs> = Specs extends readonly unknown[]
  ? number extends Specs['length']
    ? readonly Tensor[]
    : Specs extends readonly [infer First, ...infer Rest]
      ? First extends DefinedParameter<'remaining'>
        ? readonly Tensor[]
        : First extends DefinedParameter<'optional'>
          ? readonly [Tensor?, ...TensorsFor<Rest>]
          : readonly [Tensor, ...TensorsFor<Rest>]
      : readonly []
  : readonly Tensor[]

declare const declared: unique symbol

/** The signature of a target that {@link defineTarget} has made, whose types TypeScript knows. */
export interface TargetSignature<Definition extends TargetDefinition = TargetDefinition> extends KernelSignature {
  /** Exists only in types. */
  readonly [declared]: Definition
}

/**
 * Declares the operands, results and attributes of a target. TypeScript infers their types, and each call checks them, because the
 * ABI does not check sizes.
 *
 * @param name the name of the target in messages.
 * @throws {ArgumentError | ArgumentRangeError} if a part of the declaration is invalid.
 * @throws {SignatureError} if parts of the declaration contradict each other.
 * @example
 * const rmsNormTarget = defineTarget('rms_norm', {
 *   operands: [param('f32', ['n', 'd'])],
 *   results: [param('f32', ['n', 'd'])],
 *   attrs: { eps: 'f32' },
 * })
 * const normalize = targetCall(rmsNormTarget, handler)
 * const normalized = normalize(x, { eps: 1e-5 })
 */
export function defineTarget<
  const Operands extends readonly ParameterSpec[],
  const Results extends ResultSpecs,
  const Attributes extends AttributeSchema = Record<never, never>,
>(
  name: string,
  definition: TargetDefinition<Operands, Results, Attributes>,
): TargetSignature<TargetDefinition<Operands, Results, Attributes>>
/**
 * Declares a target by its signature in the signature language.
 *
 * @throws {SignatureError} if the text is invalid.
 * @example
 * const softmaxTarget = defineTarget('softmax', '(x: f32[..., c]) -> (y: f32[..., c]); temperature: f32 = 1')
 * softmaxTarget.operands[0].name // 'x'
 */
export function defineTarget(name: string, text: string): KernelSignature
export function defineTarget(name: string, definition: TargetDefinition | string): TargetSignature | KernelSignature {
  if (typeof definition === 'string') return parseSignature(name, definition)
  // Reading the text checks what a definition and a text have in common.
  return parseSignature(name, formatSignature(signatureOf(checkName(name, 'name'), definition)))
}

function signatureOf(name: string, definition: TargetDefinition): KernelSignature {
  const known = ['operands', 'results', 'attrs', 'aliases'] as const
  const { operands, results, attrs = {}, aliases = [] } = checkOptions(definition, known, `the definition of ${name}`)
  const variables = new Map<ElementChoice, string>()
  const given = entriesOf(operands, 'operand', `operands of ${name}`)
  const made = isRecord(results) ? Object.entries(results) : entriesOf(results, 'result', `results of ${name}`)
  const share = checkAliases(name, aliases, given.length, made.length)
  const parameter = ([own, spec]: readonly [string, unknown], place: string): Parameter => {
    const { kind, choice, shape } = parameterOf(spec, place)
    return {
      name: own,
      kind,
      dtypes: choice.dtypes,
      variable: choice.dtypes.length === 1 ? undefined : variableOf(choice, variables),
      isToken: false,
      shape,
      alias: undefined,
      isDonated: false,
      layout: undefined,
    }
  }
  return {
    name,
    convention: 'typed',
    source: 'option',
    operands: given.map((entry, i) => ({
      ...parameter(entry, `operands of ${name}: number ${i}`),
      isDonated: share.some(({ operand }) => operand === i),
    })),
    results: made.map((entry, i) => {
      const alias = share.find(({ result }) => result === i)
      return {
        ...parameter(entry, `results of ${name}: ${isRecord(results) ? entry[0] : `number ${i}`}`),
        alias: alias === undefined ? undefined : given[alias.operand]![0],
      }
    }),
    temps: [],
    attributes: attributeParameters(attrs, `attrs of ${name}`),
    conditions: [],
    stages: {},
    isAsync: false,
    packedOrder: undefined,
    doc: '',
    isComplete: true,
  }
}

/** Returns the variable for a choice that several parameters may share. */
function variableOf(choice: ElementChoice, variables: Map<ElementChoice, string>): string {
  const known = variables.get(choice) ?? `T${variables.size}`
  variables.set(choice, known)
  return known
}

function entriesOf(specs: unknown, kind: string, place: string): (readonly [name: string, spec: unknown])[] {
  if (!Array.isArray(specs)) throw wrongType(`the ${place}`, 'an array', specs)
  return Array.from(specs as unknown[], (spec, i) => {
    if (spec === undefined) throw wrongType(`the ${place}: number ${i}`, 'a parameter', spec)
    return [`${kind}${i}`, spec] as const
  })
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function checkAliases(name: string, aliases: unknown, operands: number, results: number): readonly Alias[] {
  const isIndex = (value: unknown, count: number): boolean =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < count
  if (!Array.isArray(aliases)) throw wrongType(`the aliases of ${name}`, 'an array', aliases, ALIAS_HINT)
  return Array.from(aliases as (Partial<Alias> | null)[], (alias, i) => {
    const { operand, result } = alias ?? {}
    if (isIndex(operand, operands) && isIndex(result, results)) return { operand: operand!, result: result! }
    throw wrongType(`alias ${i} of ${name}`, 'the indices of an operand and a result', alias, ALIAS_HINT)
  })
}

const ALIAS_HINT = 'Write aliases: [{ operand: 0, result: 0 }].'
