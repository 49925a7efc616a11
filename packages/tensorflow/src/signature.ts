import type { AttributeParameter, AttributeType, Condition, DType, KernelSignature, Parameter } from '@tenon/core'
import { printedAsText, type AttributeLiteral, type SignatureSource } from '@tenon/core/internal'
import { isTensorList } from './bind-operands.ts'
import { STRING, typeOfElements, type ElementType } from './element-types.ts'
import type { AttributeDefinition, AttributeValue, OperandDefinition, OperationDefinition } from './operation.ts'

/**
 * Returns the signature of an operation. What the language of signatures cannot express stays in the notation of the definition.
 * Definitions do not have shapes, so each operand has axes of its own, and a result can have any.
 */
export function operationSignature(operation: OperationDefinition, source: SignatureSource): KernelSignature {
  const { name, inputs, outputs, attributes } = operation
  const bound = new Set(
    inputs.flatMap(({ typeAttribute, countAttribute, listAttribute }) => [
      typeAttribute,
      countAttribute,
      listAttribute,
    ]),
  )
  const dtypes = new Map(attributes.map((attribute) => [attribute.name, dtypesOf(attribute)]))
  const parameter = (operand: OperandDefinition, isResult: boolean): Parameter => parameterOf(operand, isResult, dtypes)
  return printedAsText({
    name,
    convention: 'tensorflow',
    source,
    operands: inputs.map((operand) => parameter(operand, false)),
    results: outputs.map((operand) => parameter(operand, true)),
    temps: [],
    attributes: attributes.flatMap((attribute) =>
      attributeOf(attribute, bound.has(attribute.name), dtypes.get(attribute.name)),
    ),
    conditions: attributes.flatMap((attribute) => (bound.has(attribute.name) ? [] : conditionsOf(attribute))),
    stages: {},
    isAsync: false,
    packedOrder: undefined,
    doc: '',
    isComplete: false,
  })
}

/** Returns why operations of this form cannot be called, or undefined. */
export function unsupportedReason({ inputs, outputs, attributes }: OperationDefinition): string | undefined {
  const reference = [...inputs, ...outputs].find(({ isRef }) => isRef)
  if (reference !== undefined) return `${reference.name} is a reference to a variable of TensorFlow`
  const opaque = [...inputs, ...outputs].find(({ type }) => type !== undefined && !isPassed(type))
  if (opaque !== undefined) return `${opaque.name} is a ${opaque.type!.name}, which exists only inside TensorFlow`
  const func = attributes.find(({ kind }) => kind === 'func')
  return func === undefined ? undefined : `${func.name} is a function in a graph of TensorFlow`
}

const isPassed = (type: ElementType): boolean => type === STRING || type.dtype !== undefined

/** Whether tensors of callers have the element type as it is, which is not so for strings and quantised elements. */
const isPlain = (type: ElementType): boolean => type.dtype !== undefined && typeOfElements(type.dtype) === type

/** Returns the element types of an attribute that the language can express, empty for any, or undefined. */
function dtypesOf({ kind, isList, allowed = [] }: AttributeDefinition): readonly DType[] | undefined {
  if (kind !== 'type' || isList) return undefined
  const types = allowed as readonly ElementType[]
  return types.every((type) => isPlain(type)) ? types.map(({ dtype }) => dtype!) : undefined
}

function parameterOf(
  operand: OperandDefinition,
  isResult: boolean,
  dtypes: ReadonlyMap<string, readonly DType[] | undefined>,
): Parameter {
  const { name, type, typeAttribute, isRef, notation } = operand
  const isList = isTensorList(operand)
  const isNotated = isList || isRef || (type !== undefined && type !== STRING && !isPlain(type))
  return {
    name,
    kind: isList ? 'remaining' : 'one',
    dtypes:
      type === STRING ? ['uint8'] : type?.dtype === undefined ? (dtypes.get(typeAttribute ?? '') ?? []) : [type.dtype],
    variable: typeAttribute,
    ...(type === STRING ? { stringLayout: 'tf' as const } : {}),
    isToken: false,
    shape: isResult || isList ? undefined : [{ group: name }],
    alias: undefined,
    isDonated: false,
    layout: undefined,
    ...(isNotated ? { notation } : {}),
  }
}

function attributeOf(
  attribute: AttributeDefinition,
  isBound: boolean,
  dtypes: readonly DType[] | undefined,
): AttributeParameter[] {
  const { name, notation, kind, isList, minimum, fallback } = attribute
  // The operands determine these attributes, and the signature says so already.
  if (isBound && (dtypes !== undefined || (kind === 'int' && !isList && minimum! <= 1n))) return []
  const type = isBound ? undefined : typeOf(attribute)
  const literal = fallback === undefined || type === undefined ? undefined : literalOf(fallback)
  return [{ name, type: type ?? { notation }, isOptional: isBound || fallback !== undefined, fallback: literal }]
}

/** Returns the type in the language of signatures, or undefined if the language cannot express it. */
function typeOf({ kind, isList, allowed, fallback }: AttributeDefinition): AttributeType | undefined {
  if (isList) return kind === 'int' ? 's64[]' : kind === 'float' ? 'f32[]' : undefined
  if (kind === 'type') return fallback === undefined || isPlain(fallback as ElementType) ? 'dtype' : undefined
  if (kind === 'string') {
    if (fallback instanceof Uint8Array || allowed?.some((one) => typeof one !== 'string')) return undefined
    return allowed === undefined ? 'string' : { enum: allowed as readonly string[] }
  }
  return kind === 'int' ? 's64' : kind === 'float' ? 'f32' : kind === 'bool' ? 'pred' : undefined
}

const literalOf = (value: AttributeValue): AttributeLiteral =>
  typeof value === 'object' && value !== null && 'dtype' in value ? value.dtype! : (value as AttributeLiteral)

/** Returns `k >= 2` for an int with a least value. */
const conditionsOf = ({ name, kind, isList, minimum }: AttributeDefinition): Condition[] =>
  kind === 'int' && !isList && minimum !== undefined && minimum >= 0n && minimum < 2n ** 53n
    ? [{ comparison: '>=', left: name, right: Number(minimum) }]
    : []
