import type { Canonical, DTypeName, Tensor } from '@tenon/core'

/** The tensors of a list of parameters, `x: f32[rows, 4], y: s64[n]`, by name. */
type TensorsOf<List extends string> = List extends `${infer Name}:${infer Type}[${string}]${infer Rest}`
  ? Readonly<Record<Trim<Name>, TensorOf<Trim<Type>>>> & TensorsOf<AfterComma<Rest>>
  : unknown

type TensorOf<Type extends string> = Type extends DTypeName ? Tensor<Canonical<Type>> : Tensor

type AfterComma<Text extends string> = Text extends `${string},${infer Rest}` ? Rest : ''

type Trim<Text extends string> = Text extends ` ${infer Rest}` | `${infer Rest} ` ? Trim<Rest> : Text

/**
 * The inputs of a function with a signature. A signature that is no literal, or whose parameters do not all have brackets, gives
 * tensors by any name.
 */
export type InputsOf<Signature extends string> = Signature extends `(${infer Operands}) ->${string}`
  ? string extends keyof TensorsOf<Operands>
    ? Readonly<Record<string, Tensor>>
    : TensorsOf<Operands>
  : Readonly<Record<string, Tensor>>
