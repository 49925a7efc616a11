import type { ArgumentOf, NativeFunction, ResultOf, Tensor } from '@tenon/core'
import {
  bindRemoteFunction,
  checkOptions,
  RUN_OPTIONS,
  type IsolatedRunOptions,
  type RemoteHost,
  type RemotePointer,
} from '@tenon/core/internal'
import type { AllocatorLike } from '../allocator/check-allocator.ts'
import { checkBoolean } from '../check.ts'
import { StructLayout } from '../layout/group-layout.ts'
import { printAs } from '../print-as.ts'
import type { MemorySegment } from '../segment/memory-segment.ts'
import { intoAllocator, type Bound, type DowncallOptions, type WithErrno } from './linker.ts'
import { checkSignature, coreTypeOf, type FunctionSignature, type NativeType } from './signature.ts'

/** The options of a function of C that runs in another process. */
export interface IsolatedFunctionOptions extends DowncallOptions, IsolatedRunOptions {}

/** The declaration of a function of C that runs in another process. `text` is a `const char *`. */
export interface IsolatedSignature {
  readonly result?: NativeType | 'text' | 'void'
  readonly parameters?: readonly (NativeType | 'text')[]
  readonly fixedParameters?: number
}

type IsolatedArgument<Type> = Type extends 'text'
  ? string | MemorySegment | ArrayBufferView | RemotePointer | null
  : Type extends 'pointer'
    ? MemorySegment | Tensor | ArrayBufferView | RemotePointer | null
    : ArgumentOf<Type>

type IsolatedArguments<Signature> = Signature extends { readonly parameters: infer Types extends readonly unknown[] }
  ? { readonly [Index in keyof Types]: IsolatedArgument<Types[Index]> }
  : []

type IsolatedResult<Signature> = Signature extends { readonly result: 'text' }
  ? string | null
  : ResultOf<Signature, RemotePointer | null, MemorySegment>

type Allocators<Signature> = Signature extends { readonly result: StructLayout } ? [allocator: AllocatorLike] : []

/** A function of C that runs in another process. A call blocks this thread, and `.async` does not. */
export type IsolatedFunction<
  Signature extends IsolatedSignature = IsolatedSignature,
  Options extends DowncallOptions = {},
> = NativeFunction<
  [...Allocators<Signature>, ...IsolatedArguments<Signature>],
  Options extends { readonly captureErrno: true } ? WithErrno<IsolatedResult<Signature>> : IsolatedResult<Signature>
>

const OPTIONS = ['captureErrno', ...RUN_OPTIONS] as const

/**
 * Links a function of C of the library of other processes.
 *
 * @throws {ArgumentError} if the signature or an option is not valid.
 */
export function linkRemote(
  host: RemoteHost,
  name: string,
  signature: IsolatedSignature,
  options?: IsolatedFunctionOptions,
): NativeFunction<never[], unknown> {
  const { captureErrno = false, ...run } = checkOptions(options, OPTIONS)
  checkBoolean(captureErrno, 'captureErrno')
  const { result, parameters, fixedParameters } = checkSignature(signature as FunctionSignature)
  const types = {
    result: result === 'void' ? result : remoteTypeOf(result),
    parameters: parameters.map(remoteTypeOf),
    fixedParameters,
  }
  const bound = bindRemoteFunction(host, name, types, { captureErrno, run }) as Bound
  const call = result instanceof StructLayout ? intoAllocator(bound, result, captureErrno) : bound
  return printAs(`${name}(${parameters.join(', ')}): ${result}`, call) as NativeFunction<never[], unknown>
}

const remoteTypeOf = (type: NativeType | 'text'): ReturnType<typeof coreTypeOf> | 'text' =>
  type === 'text' ? type : coreTypeOf(type)
