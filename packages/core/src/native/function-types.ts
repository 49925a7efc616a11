import type { Segment } from '../memory/segment.ts'
import type { Tensor } from '../types/tensor.ts'
import type { Value } from './argument-conversion.ts'
import type { ValueType } from './value-type.ts'

/**
 * The declaration of a C function. The compiler derives the types of its arguments and of its result from it.
 *
 * @example
 * const declaration = { result: 'int32', parameters: ['pointer', 'uint64', 'int32'] } as const satisfies FunctionSignature
 */
export interface FunctionSignature<Struct = never> {
  /**
   * The default is `void`. A pointer is returned as a segment of size 0, because C does not say how large its memory is. A `text` is
   * copied, up to 1 MiB, and the null pointer is null.
   */
  readonly result?: ValueType | Struct | 'void'
  readonly parameters?: readonly (ValueType | Struct)[]
  /** For a variadic function, the number of parameters before the `...`. `parameters` contains all that are passed. */
  readonly fixedParameters?: number
}

/** The argument that a native function takes for a parameter of this type. A struct is passed as the segment of its bytes. */
export type ArgumentOf<Type> = Type extends 'pointer'
  ? Segment | Tensor | ArrayBufferView | null
  : Type extends 'text'
    ? string | Segment | Tensor | ArrayBufferView | null
    : Type extends 'bool'
      ? boolean
      : Type extends 'float32' | 'float64'
        ? number
        : Type extends ValueType
          ? number | bigint
          : Segment

type ArgumentsFor<Types extends readonly unknown[]> = { readonly [Index in keyof Types]: ArgumentOf<Types[Index]> }

/** The arguments of a function with this declaration. */
export type ArgumentsOf<Signature> = 'parameters' extends keyof Signature
  ? NonNullable<Signature['parameters']> extends infer Types extends readonly unknown[]
    ? ArgumentsFor<Types>
    : never
  : []

type ResultFor<Type, Pointer, Struct> = Type extends 'pointer'
  ? Pointer
  : Type extends 'text'
    ? string | null
    : Type extends 'int64' | 'uint64'
      ? bigint
      : Type extends 'bool'
        ? boolean
        : Type extends 'void' | undefined
          ? undefined
          : Type extends ValueType
            ? number
            : Struct

/** The result of a function with this declaration, with the types that stand for a pointer and for a struct. */
export type ResultOf<Signature, Pointer = Segment, Struct = undefined> = 'result' extends keyof Signature
  ? ResultFor<Signature['result'], Pointer, Struct>
  : undefined

/** A native function that checks its arguments, and keeps their memory and the library open while it runs. */
export interface NativeFunction<Arguments extends readonly unknown[] = Value[], Result = Value> {
  /** @throws {NativeError} with the text of a C++ exception that the function threw. */
  (...values: Arguments): Result
  /**
   * Runs the function on another thread. The arguments' memory and the library are held open until it has returned.
   *
   * @throws synchronously as a normal call if an argument is not valid, and {ScopeClosedError} once closing of its memory
   * has begun.
   */
  readonly async: (...values: Arguments) => Promise<Result>
}
