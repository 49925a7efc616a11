import type { Tensor } from '@tenon/core'
import type { ElementType } from './element-types.ts'

/** The kinds of attributes. */
export const ATTRIBUTE_KINDS = ['string', 'int', 'float', 'bool', 'type', 'shape', 'tensor', 'func'] as const

/** The kind of an attribute. */
export type AttributeKind = (typeof ATTRIBUTE_KINDS)[number]

/** One value: text, or bytes that are not UTF-8; an int is a bigint; a shape has -1 for unknown sizes, and null is a shape of unknown rank. */
export type AttributeScalar =
  | string
  | Uint8Array
  | bigint
  | number
  | boolean
  | ElementType
  | readonly number[]
  | null
  | Tensor

/** The value of an attribute, or the values of a list. */
export type AttributeValue = AttributeScalar | readonly AttributeScalar[]

/** An attribute of an operation. */
export interface AttributeDefinition {
  readonly name: string
  /** The text without the name: `list(int) >= 2`. */
  readonly notation: string
  readonly kind: AttributeKind
  readonly isList: boolean
  /** The only values, for lists the only elements; undefined for any. */
  readonly allowed: readonly (ElementType | string | Uint8Array)[] | undefined
  /** The least value of an int, or the least length of a list. */
  readonly minimum: bigint | undefined
  /** The default; undefined if callers must pass a value. */
  readonly fallback: AttributeValue | undefined
}

/** An operand or a result of an operation. Exactly one of `type`, `typeAttribute` and `listAttribute` is there. */
export interface OperandDefinition {
  readonly name: string
  /** The text without the name: `N * T`. */
  readonly notation: string
  readonly isRef: boolean
  /** The attribute that is the number of tensors in a list. */
  readonly countAttribute: string | undefined
  readonly type: ElementType | undefined
  /** The attribute that is the element type. */
  readonly typeAttribute: string | undefined
  /** The attribute that is the list of the element types. */
  readonly listAttribute: string | undefined
}

/** The definition of an operation. */
export interface OperationDefinition {
  readonly name: string
  readonly inputs: readonly OperandDefinition[]
  readonly outputs: readonly OperandDefinition[]
  readonly attributes: readonly AttributeDefinition[]
}
