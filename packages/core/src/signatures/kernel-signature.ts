import type { StringLayout } from '../strings/string-layout.ts'
import type { DType } from '../types/dtype.ts'

/** The convention by which a kernel is called. */
export type KernelConvention = 'typed' | 'host' | 'host-status' | 'host-unified' | 'packed' | 'legacy' | 'tensorflow'

/** The conventions that a signature in the language can have. The definitions of TensorFlow's kernels have a notation of their own. */
export const KERNEL_CONVENTIONS: readonly KernelConvention[] = [
  'typed',
  'host',
  'host-status',
  'host-unified',
  'packed',
  'legacy',
]

/** The place from which a signature was read, or `none` for a kernel without a signature. */
export type SignatureSource = 'option' | 'library' | 'sidecar' | 'tvm-ffi' | 'templates' | 'none'

/** A stage of a typed custom call that has a handler of its own. */
export type SignatureStage = 'instantiate' | 'prepare' | 'initialize'

/** The binary operators of size expressions. `/` must divide exactly. */
export type SizeOperator = '+' | '-' | '*' | '/' | '%' | 'ceildiv' | 'min' | 'max'

/** A size: a whole number, the name of a size or of an integer attribute, or an operation on two sizes. */
export type SizeExpression =
  | number
  | string
  | { readonly operator: SizeOperator; readonly left: SizeExpression; readonly right: SizeExpression }

/** The name of a group of axes (`...batch`), which is empty for `...`. */
export interface AxisGroup {
  readonly group: string
}

/** One part of a shape: the size of an axis, null for an axis of any size (`?`), or a group of zero or more axes. */
export type Dimension = SizeExpression | AxisGroup | null

/** The number of tensors for a parameter: one, at most one, or any number. */
export type ParameterKind = 'one' | 'optional' | 'remaining'

/** The layout of a parameter's memory: column-major in the last two axes, or the axes from major to minor. */
export type ParameterLayout = 'cm' | readonly number[]

/** An operand, a result or a temporary of a kernel. */
export interface Parameter<Kind extends ParameterKind = ParameterKind> {
  readonly name: string
  readonly kind: Kind
  /** The element types that are allowed; empty for any type. */
  readonly dtypes: readonly DType[]
  /** The name of the element type's variable; parameters with the same variable have the same element type in one call. */
  readonly variable: string | undefined
  /** The layout of the elements if they are strings (`string<tf>[n]`). The element type is then `uint8`, that of their memory. */
  readonly stringLayout?: StringLayout
  /** Whether the parameter is an ordering token, which callers neither pass nor receive. */
  readonly isToken: boolean
  /** The axes, with at most one group; undefined for tensors of any rank (`[...]` alone). */
  readonly shape: readonly Dimension[] | undefined
  /** For a result: the name of the operand whose memory it shares. */
  readonly alias: string | undefined
  /** For an operand: whether the kernel may overwrite it through its aliased result without a copy. */
  readonly isDonated: boolean
  /** Row-major if undefined. */
  readonly layout: ParameterLayout | undefined
  /** The type in the notation of the kernel's convention, if the language cannot express it (`N * T` of TensorFlow). */
  readonly notation?: string
}

/** The name of a scalar attribute's type. */
export type ScalarAttributeType =
  | 'pred'
  | 's8'
  | 's16'
  | 's32'
  | 's64'
  | 'u8'
  | 'u16'
  | 'u32'
  | 'u64'
  | 'f32'
  | 'f64'
  | 'c64'
  | 'c128'

/** The element type of an array attribute. */
export type ArrayAttributeElement = Exclude<ScalarAttributeType, 'pred' | 'c64' | 'c128'>

/** The type of an attribute. */
export type AttributeType =
  | ScalarAttributeType
  | `${ArrayAttributeElement}[]`
  /** UTF-8 text, arbitrary bytes, an s64 with an address, an s32 with XLA's number of an element type, any dictionary. */
  | 'string'
  | 'bytes'
  | 'pointer'
  | 'dtype'
  | 'dictionary'
  | { readonly enum: readonly string[] }
  | { readonly members: readonly AttributeParameter[] }
  /** A type in the notation of the kernel's convention, which the language cannot express (`list(shape) >= 1` of TensorFlow). */
  | { readonly notation: string }

/** The default of an attribute as JavaScript writes it. 64-bit integers are bigints, complex numbers are pairs. */
export type AttributeLiteral =
  | number
  | bigint
  | boolean
  | string
  | Uint8Array
  | readonly [number, number]
  | readonly (number | bigint)[]

/** An attribute of a kernel. */
export interface AttributeParameter {
  readonly name: string
  readonly type: AttributeType
  /** Whether a caller may omit the attribute. Without a default, an omitted attribute is not passed. */
  readonly isOptional: boolean
  readonly fallback: AttributeLiteral | undefined
}

/** The comparison operators of conditions. */
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

/** A condition that a call must satisfy: a comparison of two sizes. `where T in f32|f64` sets `dtypes` instead. */
export interface Condition {
  readonly comparison: Comparison
  readonly left: SizeExpression
  readonly right: SizeExpression
}

/** A kernel's operands, results and attributes, in one form for all conventions and sources. */
export interface KernelSignature {
  readonly name: string
  readonly convention: KernelConvention
  readonly source: SignatureSource
  readonly operands: readonly Parameter[]
  readonly results: readonly Parameter[]
  /** Scratch memory that the call allocates, passed behind the results. */
  readonly temps: readonly Parameter[]
  readonly attributes: readonly AttributeParameter[]
  readonly conditions: readonly Condition[]
  /** The symbols of the handlers of other stages than execute. */
  readonly stages: Readonly<Partial<Record<SignatureStage, string>>>
  /** Whether the kernel finishes its work on a thread of its own. */
  readonly isAsync: boolean
  /** The order of the arguments of a packed function, by name; undefined for operands, results, temporaries, attributes. */
  readonly packedOrder: readonly string[] | undefined
  readonly doc: string
  /** Whether names and sizes suffice to infer every result. Otherwise, callers pass the results. */
  readonly isComplete: boolean
}

const LISTS = ['operands', 'results', 'temps', 'attributes', 'conditions'] as const

/** Whether a value has the form of a signature, as `parseSignature()` returns it. */
export function isSignature(value: unknown): value is KernelSignature {
  if (typeof value !== 'object' || value === null) return false
  return LISTS.every((list) => Array.isArray((value as Partial<KernelSignature>)[list]))
}
