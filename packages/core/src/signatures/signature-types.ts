import type { ForeignTensor, TensorLike } from '../interchange/find.ts'
import type { OfferedStrings } from '../interchange/protocol.ts'
import type { Segment } from '../memory/segment.ts'
import type { TypedArray } from '../types/dtype.ts'
import type { ArrayOf, Canonical, DTypeName, ElementOf, InputOf } from '../types/element-types.ts'
import type { StringArgument, StringTensorLike } from '../strings/string-tensor-like.ts'
import type { Tensor } from '../types/tensor.ts'
import type { ParameterKind } from './kernel-signature.ts'

/*
 * The types that TypeScript reads from the text of a signature, if it knows the text. They trust the text, which `parseSignature()`
 * checks when the program runs. A text that these types cannot read gives the types of any signature.
 */

/** A name, a kind, and the elements for each operand or result. */
export type ParameterTypes = readonly (readonly [name: string, kind: ParameterKind, elements: Elements])[]
type Elements = 'numbers' | 'strings'

/** A name, a type and the way to omit it for each attribute: `!` if it must be given, `?` for no value, `=` for its default. */
type AttributeTypes = readonly (readonly [name: string, type: string, presence: '!' | '?' | '='])[]

type Space = ' ' | '\t' | '\n' | '\r'
type Trim<Text extends string> = Text extends `${Space}${infer Rest}` | `${infer Rest}${Space}` ? Trim<Rest> : Text

type Before<Text extends string, Separator extends string> = Text extends `${infer Head}${Separator}${string}`
  ? Head
  : Text
type After<Text extends string, Separator extends string> = Text extends `${string}${Separator}${infer Tail}`
  ? Tail
  : ''
type AfterLast<Text extends string, Separator extends string> = Text extends `${string}${Separator}${infer Tail}`
  ? AfterLast<Tail, Separator>
  : Text

type Count<
  Text extends string,
  Part extends string,
  Found extends unknown[] = [],
> = Text extends `${string}${Part}${infer Rest}` ? Count<Rest, Part, [...Found, 0]> : Found['length']

/** Whether a part of a list has all of its brackets and quotes, so that the next separator ends it. */
type IsWhole<Text extends string> = [
  Count<Text, '{'>,
  Count<Text, '['>,
  Count<Text, '('>,
  IsEven<Text, '"'>,
  IsEven<Text, "'">,
] extends [Count<Text, '}'>, Count<Text, ']'>, Count<Text, ')'>, true, true]
  ? true
  : false
type IsEven<Text extends string, Part extends string> = Text extends `${string}${Part}${infer Rest}`
  ? Rest extends `${string}${Part}${infer Others}`
    ? IsEven<Others, Part>
    : false
  : true

/**
 * The parts of a list, or `readonly string[]` for a list in which a bracket or quote is not closed.
 *
 * @template Open the beginning of a part in which a bracket or quote is still open.
 */
type Parts<
  Text extends string,
  Separator extends string,
  Open extends string = '',
> = Text extends `${infer Head}${Separator}${infer Rest}`
  ? IsWhole<`${Open}${Head}`> extends true
    ? readonly [Trim<`${Open}${Head}`>, ...Parts<Rest, Separator>]
    : Parts<Rest, Separator, `${Open}${Head}${Separator}`>
  : IsWhole<`${Open}${Text}`> extends true
    ? readonly [Trim<`${Open}${Text}`>]
    : readonly string[]

/** Each parameter has one colon, behind its name. */
type ParametersIn<Text extends string> = Text extends `${infer Start}:${infer Rest}`
  ? Trim<Rest> extends `token${string}`
    ? ParametersIn<Rest>
    : readonly [ParameterIn<Trim<AfterLast<Start, ','>>, ElementsIn<Trim<Rest>>>, ...ParametersIn<Rest>]
  : readonly []
type ParameterIn<Head extends string, Own extends Elements> = Head extends `...${infer Name}`
  ? readonly [Trim<Name>, 'remaining', Own]
  : Head extends `${infer Name}?`
    ? readonly [Trim<Name>, 'optional', Own]
    : readonly [Head, 'one', Own]
type ElementsIn<Text extends string> = Text extends `string${infer Rest}`
  ? Trim<Rest> extends '' | `${'<' | '[' | ',' | ')'}${string}`
    ? 'strings'
    : 'numbers'
  : 'numbers'

type Inner<Text extends string> = Trim<Text> extends `(${infer Content})` ? Content : Trim<Text>
/** The text without its documentation. */
type Code<Text extends string> = Before<Text, '--'>

/** The operands of a signature, without tokens. */
export type OperandsOf<Text extends string> = string extends Text
  ? ParameterTypes
  : ParametersIn<Inner<Before<Text, '->'>>>
/** The results of a signature, without tokens. */
export type ResultsOf<Text extends string> = string extends Text
  ? ParameterTypes
  : ParametersIn<Inner<Before<After<Code<Text>, '->'>, ';'>>>

type ClauseWord = 'where' | 'temps' | 'async' | 'stages' | 'packed'
type IsClause<Text extends string> = Text extends `${ClauseWord}${infer Rest}`
  ? Rest extends '' | `${Space | '('}${string}`
    ? Trim<Rest> extends `${':' | '?'}${string}`
      ? false
      : true
    : false
  : false

type AttributesIn<Clauses extends readonly string[]> = Clauses extends readonly [
  infer Clause extends string,
  ...infer Rest extends readonly string[],
]
  ? IsClause<Clause> extends true
    ? AttributesIn<Rest>
    : readonly [...AttributeList<Parts<Clause, ','>>, ...AttributesIn<Rest>]
  : Clauses extends readonly []
    ? readonly []
    : AttributeTypes

type AttributeList<Members extends readonly string[]> = Members extends readonly [
  infer First extends string,
  ...infer Rest extends readonly string[],
]
  ? readonly [...AttributeIn<First>, ...AttributeList<Rest>]
  : Members extends readonly []
    ? readonly []
    : AttributeTypes

type AttributeIn<Text extends string> = Text extends `${infer Head}:${infer Type}`
  ? Trim<Head> extends `${infer Name}?`
    ? readonly [readonly [Unquoted<Trim<Name>>, ...TypeIn<Trim<Type>, '?'>]]
    : readonly [readonly [Unquoted<Trim<Head>>, ...TypeIn<Trim<Type>, '!'>]]
  : readonly []
type TypeIn<Text extends string, Presence> = Text extends `{${string}`
  ? readonly [Text, Presence]
  : Text extends `enum${infer Values})${infer Default}`
    ? readonly [`enum${Values})`, Default extends `${string}=${string}` ? '=' : Presence]
    : Text extends `${infer Type}=${string}`
      ? readonly [Trim<Type>, '=']
      : readonly [Text, Presence]
type Unquoted<Text extends string> = Text extends `"${infer Content}"` | `'${infer Content}'` ? Content : Text

/** The attributes of a signature. */
type AttributesOf<Text extends string> = string extends Text
  ? AttributeTypes
  : AttributesIn<Parts<After<Code<Text>, ';'>, ';'>>

/** Attributes with types of their own, by name. */
export interface TypedDictionary<Typed> {
  readonly [name: string]: Typed | TypedDictionary<Typed>
}

type EnumValue<Text extends string> = Unquoted<Text> extends Text ? (Text extends '' ? never : string) : Unquoted<Text>

/** @template Typed the values that have types of their own, which `dictionary` contains. */
type OutputFor<Type extends string, Typed> = Type extends `{${infer Members}}`
  ? Outputs<AttributeList<Parts<Members, ','>>, Typed>
  : Type extends `enum${infer Values}`
    ? EnumValue<Parts<Inner<Values>, ','>[number]>
    : Type extends 'string'
      ? string
      : Type extends 'bytes'
        ? Uint8Array
        : Type extends 'pointer'
          ? bigint
          : Type extends 'dtype'
            ? number
            : Type extends 'dictionary'
              ? TypedDictionary<Typed>
              : Type extends `${infer Element}[${string}`
                ? ArrayOf<Canonical<Trim<Element>>>
                : ElementOf<Canonical<Type>>
type InputFor<Type extends string, Typed> = Type extends `{${infer Members}}`
  ? Inputs<AttributeList<Parts<Members, ','>>, Typed>
  : Type extends 'bytes'
    ? Typed | string | Uint8Array
    : Type extends 'pointer'
      ? Typed | Segment | Tensor | bigint
      : Type extends 'dtype'
        ? Typed | DTypeName
        : Type extends 'dictionary'
          ? TypedDictionary<Typed | string | boolean | bigint | TypedArray>
          : Type extends `enum${string}` | 'string'
            ? Typed | OutputFor<Type, Typed>
            : Type extends `${infer Element}[${string}`
              ? Typed | readonly InputOf<Canonical<Trim<Element>>>[] | ArrayOf<Canonical<Trim<Element>>>
              : Typed | ScalarInput<Canonical<Type>>
/** A boolean must be a boolean, and any whole number can be a bigint. */
type ScalarInput<Name extends Canonical<string>> = Name extends 'bool'
  ? boolean
  : Name extends `${'int' | 'uint'}${string}`
    ? number | bigint
    : InputOf<Name>

type AnyAttributes = { readonly [name: string]: unknown }
type Outputs<List extends AttributeTypes, Typed> = number extends List['length']
  ? AnyAttributes
  : {
      readonly [One in List[number] as One[0]]: OutputFor<One[1], Typed> | (One[2] extends '?' ? undefined : never)
    }
type Inputs<List extends AttributeTypes, Typed> = number extends List['length']
  ? AnyAttributes
  : { readonly [One in List[number] as One[2] extends '!' ? One[0] : never]: InputFor<One[1], Typed> } & {
      readonly [One in List[number] as One[2] extends '!' ? never : One[0]]?: InputFor<One[1], Typed>
    }

/** The attributes that a caller passes to a kernel with a signature. */
export type AttributesInput<Text extends string, Typed = never> = Inputs<AttributesOf<Text>, Typed>
/** The attributes that a kernel in TypeScript receives. */
export type AttributesOutput<Text extends string, Typed = never> = Outputs<AttributesOf<Text>, Typed>

/** A tensor for each parameter, also of another library. Optional ones may be omitted, and the remaining one is any number of tensors. */
export type TensorsFor<Parameters extends ParameterTypes> = ParameterTypes extends Parameters
  ? readonly TensorLike[]
  : Parameters extends readonly [infer First extends ParameterTypes[number], ...infer Rest extends ParameterTypes]
    ? First[1] extends 'remaining'
      ? readonly TensorLike[]
      : First[1] extends 'optional'
        ? readonly [TensorLike?, ...TensorsFor<Rest>]
        : readonly [TensorLike, ...TensorsFor<Rest>]
    : readonly []

/** A tensor, or one of strings that can be read and set, for each parameter of a function in TypeScript. */
export type ArgumentsFor<Parameters extends ParameterTypes> = ParameterTypes extends Parameters
  ? readonly Tensor[]
  : Parameters extends readonly [infer First extends ParameterTypes[number], ...infer Rest extends ParameterTypes]
    ? First[1] extends 'remaining'
      ? readonly ArgumentFor<First>[]
      : First[1] extends 'optional'
        ? readonly [ArgumentFor<First>?, ...ArgumentsFor<Rest>]
        : readonly [ArgumentFor<First>, ...ArgumentsFor<Rest>]
    : readonly []
type ArgumentFor<Parameter extends ParameterTypes[number]> = Parameter[2] extends 'strings' ? StringArgument : Tensor

/** The tensor of an operand or a result of a kernel. */
export type ValueFor<Parameter extends ParameterTypes[number]> = Parameter[2] extends 'strings'
  ? StringTensorLike
  : Tensor

/** The operand of a kernel: a tensor, or one of another library. */
export type OperandFor<Parameter extends ParameterTypes[number]> = Parameter[2] extends 'strings'
  ? StringTensorLike | OfferedStrings | ForeignTensor
  : TensorLike

/** A tensor, or one of strings, for each operand of a prepared call. */
export type OperandsFor<Parameters extends ParameterTypes> = ParameterTypes extends Parameters
  ? readonly (TensorLike | StringTensorLike)[]
  : Parameters extends readonly [infer First extends ParameterTypes[number], ...infer Rest extends ParameterTypes]
    ? First[1] extends 'remaining'
      ? readonly OperandFor<First>[]
      : First[1] extends 'optional'
        ? readonly [OperandFor<First>?, ...OperandsFor<Rest>]
        : readonly [OperandFor<First>, ...OperandsFor<Rest>]
    : readonly []

/** The return value of a kernel: the only result, an object of results by name, or `undefined` if there are none. */
export type ReturnFor<Results extends ParameterTypes> = ParameterTypes extends Results
  ? unknown
  : Results extends readonly []
    ? undefined
    : Results extends readonly [infer Only extends readonly [string, 'one', Elements]]
      ? ValueFor<Only>
      : { readonly [One in Results[number] as One[0]]: ReturnOf<One> }
type ReturnOf<One extends ParameterTypes[number]> = One[1] extends 'remaining'
  ? readonly ValueFor<One>[]
  : One[1] extends 'optional'
    ? ValueFor<One> | undefined
    : ValueFor<One>
