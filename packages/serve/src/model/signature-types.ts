import type { Canonical, DTypeName, Tensor } from '@tenon/core'
import type { StringTensor } from 'tenon/tstring'
import type { ModelTensor } from './model-tensor.ts'

/** The element types of a list of parameters, `x: f32[rows, 4], y: s64[n]`, by name. */
type TypesOf<List extends string> = List extends `${infer Name}:${infer Type}[${string}]${infer Rest}`
  ? Readonly<Record<Trim<Name>, Trim<Type>>> & TypesOf<AfterComma<Rest>>
  : unknown

type AfterComma<Text extends string> = Text extends `${string},${infer Rest}` ? Rest : ''

type Trim<Text extends string> = Text extends ` ${infer Rest}` | `${infer Rest} ` ? Trim<Rest> : Text

/** The element types by name. If the list is not a literal, or a parameter has no brackets, every name may have every type. */
type NamedTypes<List extends string> = string extends keyof TypesOf<List>
  ? Readonly<Record<string, string>>
  : unknown extends TypesOf<List>
    ? Readonly<Record<string, string>>
    : TypesOf<List>

/** The names of the operands of a signature with their element types: `{ x: 'f32' }`. */
export type OperandTypes<Signature extends string> = Signature extends `(${infer Operands}) ->${string}`
  ? NamedTypes<Operands>
  : Readonly<Record<string, string>>

/** The names of the results of a signature with their element types: `{ y: 'f32' }`. */
export type ResultTypes<Signature extends string> = Signature extends
  | `${string}) -> (${infer Results})`
  | `${string}) -> (${infer Results});${string}`
  ? NamedTypes<Results>
  : Readonly<Record<string, string>>

type TensorOf<Type> = Type extends string
  ? string extends Type
    ? ModelTensor
    : Type extends 'string'
      ? StringTensor
      : Type extends DTypeName
        ? Tensor<Canonical<Type>>
        : Tensor
  : never

/**
 * The inputs of a function with a signature. A signature that is no literal, or whose parameters do not all have brackets, gives
 * tensors by any name.
 */
export type InputsOf<Signature extends string> = {
  readonly [Name in keyof OperandTypes<Signature>]: TensorOf<OperandTypes<Signature>[Name]>
}
