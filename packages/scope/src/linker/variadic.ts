import {
  ArgumentError,
  type ArgumentsOf,
  type NativeFunction,
  type Segment,
  type Tensor,
  type ValueType,
} from '@tenon/core'
import { checkArguments, checkType, setArgumentCheck, wrongType } from '@tenon/core/internal'
import type { AllocatorLike } from '../allocator/check-allocator.ts'
import { GroupLayout } from '../layout/group-layout.ts'
import { printAs } from '../print-as.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { type DowncallOptions, type Linked, namedDowncall } from './downcall.ts'
import { type ByValueLayout, checkSignature, type FunctionSignature, type NativeType } from './signature.ts'

/** The most lists of types for which one function is linked. */
const MOST_LISTS = 64

type PlainArgument = number | bigint | boolean | string | Segment | Tensor | ArrayBufferView | null

/** An argument behind the declared ones, or a pair that also states its type. */
export type VariadicArgument = PlainArgument | readonly [type: ValueType, value: PlainArgument]

/** A variadic function: the declared arguments, and then any number of others. */
export type VariadicCall<
  Signature extends FunctionSignature = FunctionSignature,
  Options extends DowncallOptions = {},
> = NativeFunction<
  [
    ...(Signature extends { readonly result: ByValueLayout } ? [allocator: AllocatorLike] : []),
    ...ArgumentsOf<Signature>,
    ...VariadicArgument[],
  ],
  Linked<Signature, Options>
>

type Call = NativeFunction<never[], unknown>

/** See `Linker.variadic`. */
export const variadic = (symbol: MemorySegment, signature: FunctionSignature, options?: DowncallOptions): Call =>
  namedVariadic(symbol, signature, options, undefined)

/** As {@link variadic}. @param names the names of the declared parameters in messages, which have their position otherwise */
export function namedVariadic(
  symbol: MemorySegment,
  signature: FunctionSignature,
  options: DowncallOptions | undefined,
  names: readonly string[] | undefined,
): Call {
  const { result, parameters, fixedParameters } = checkSignature(signature)
  if (fixedParameters !== undefined) {
    throw new ArgumentError(
      `the signature of a variadic function must not have fixedParameters, got ${fixedParameters}`,
      {
        hint: 'Declare the parameters before the "...". Linker.downcall() takes fixedParameters, and all parameters of one call.',
      },
    )
  }
  const call = linkByTypes({ result, parameters }, (types) => namedDowncall(symbol, types, options, names) as Call)
  return printAs(`${call.name}(${[...parameters, '...'].join(', ')}): ${result}`, call)
}

/**
 * Makes a variadic function whose further arguments have the types that C gives them.
 *
 * @param link links the function with all types of a call, which happens once for each list of types.
 */
export function linkByTypes(
  { result, parameters }: Required<Pick<FunctionSignature, 'result' | 'parameters'>>,
  link: (types: FunctionSignature) => Call,
): Call {
  const linkWith = (rest: readonly NativeType[]): Call =>
    link({ result, parameters: [...parameters, ...rest], fixedParameters: parameters.length })
  const count = parameters.length + (result instanceof GroupLayout ? 1 : 0)
  const calls = new Map<string, Call>()
  // The signature is checked now.
  const first = linkWith([])
  calls.set('', first)

  /** The function for the types of the arguments of a call, with these arguments. */
  const find = (values: readonly unknown[]): readonly [linked: Call, list: readonly unknown[]] => {
    const list = values.slice(0, count)
    const types: ValueType[] = []
    for (let i = count; i < values.length; i++) {
      const value = values[i]
      // The elements of a pair are read once.
      const [type, given] = Array.isArray(value) ? pairOf(value as unknown[]) : [promoted(value), value]
      types.push(type)
      list.push(typeof given === 'boolean' && type !== 'bool' ? Number(given) : given)
    }
    const key = types.join()
    let linked = calls.get(key)
    if (linked === undefined) {
      linked = linkWith(types)
      if (calls.size >= MOST_LISTS) calls.delete(calls.keys().next().value!)
      calls.set(key, linked)
    }
    return [linked, list]
  }
  const made = Object.assign(
    (...values: readonly unknown[]): unknown => {
      const [linked, list] = find(values)
      return linked(...(list as never[]))
    },
    {
      async: async (...values: readonly unknown[]): Promise<unknown> => {
        const [linked, list] = find(values)
        return linked.async(...(list as never[]))
      },
    },
  )
  setArgumentCheck(made, (values, isAsync) => checkArguments(...find(values), isAsync))
  Object.defineProperty(made, 'name', { value: first.name })
  return made as Call
}

function pairOf(pair: readonly unknown[]): [type: ValueType, value: unknown] {
  const [type, value] = pair
  if (pair.length !== 2 || typeof type !== 'string') throw wrongVariadic(pair)
  return [checkType(type as ValueType) as ValueType, value]
}

/** The type that C gives an argument behind the declared ones. */
function promoted(value: unknown): ValueType {
  switch (typeof value) {
    case 'string':
      return 'text'
    case 'bigint':
      return 'int64'
    case 'boolean':
      return 'int32'
    case 'number':
      return Number.isInteger(value) && !Object.is(value, -0) ? 'int32' : 'float64'
    case 'object':
      return 'pointer'
    default:
      throw wrongVariadic(value)
  }
}

const wrongVariadic = (value: unknown): ArgumentError =>
  wrongType('a variadic argument', 'a number, bigint, boolean, string, memory, null, or [type, value]', value)
