import { ArgumentError, type ArgumentsOf, type NativeFunction, type ResultOf } from '@tenon/core'
import {
  addressIn,
  bindFunction,
  checkArguments,
  checkOptions,
  coreFunctions,
  hex,
  setArgumentCheck,
  type ValueWithErrno,
  type Value,
} from '@tenon/core/internal'
import { allocateFrom, type AllocatorLike } from '../allocator/check-allocator.ts'
import { checkBoolean } from '../check.ts'
import { GroupLayout } from '../layout/group-layout.ts'
import { sizeOf } from '../layout/memory-layout.ts'
import { printAs } from '../print-as.ts'
import { rangeForWrite } from '../segment/locate.ts'
import { checkSegment, MemorySegment } from '../segment/memory-segment.ts'
import { type ByValueLayout, checkSignature, coreTypeOf, type FunctionSignature } from './signature.ts'
import { SymbolSegment } from './symbol-segment.ts'

/** A result of a native function. A pointer is a segment of size 0, a text a string or null, and a struct is in memory from the allocator. */
export type Result = number | bigint | boolean | string | MemorySegment | null | undefined

/** A result, and the value of `errno` after the call. */
export interface WithErrno<Returned = Result> {
  readonly value: Returned
  readonly errno: number
}

/** Options for linking a function. */
export interface DowncallOptions {
  /** Whether to return `errno` together with the result. */
  readonly captureErrno?: boolean
  /**
   * Whether the function is small: it returns soon, needs at most 16 KiB of stack, calls no function of TypeScript, throws no exception,
   * and leaves the floating-point modes alone. A call then takes less time, because it runs on the stack of JavaScript and restores nothing.
   * If the function calls a function of TypeScript, that does not run, and the call throws a `NativeError`. In guard mode, changed modes
   * are an error as well. Asynchronous calls are as without the option.
   */
  readonly critical?: boolean
}

type ReturnedBy<Signature extends FunctionSignature> = ResultOf<Signature, MemorySegment, MemorySegment>

/** A function that returns a struct takes an allocator as its first argument. */
type Allocators<Signature extends FunctionSignature> = Signature extends { readonly result: ByValueLayout }
  ? [allocator: AllocatorLike]
  : []

/** The result of a linked function with these options. */
export type Linked<Signature extends FunctionSignature, Options extends DowncallOptions> = Options extends {
  readonly captureErrno: true
}
  ? WithErrno<ReturnedBy<Signature>>
  : 'captureErrno' extends keyof Options
    ? Options extends { readonly captureErrno?: false }
      ? ReturnedBy<Signature>
      : ReturnedBy<Signature> | WithErrno<ReturnedBy<Signature>>
    : ReturnedBy<Signature>

/** A linked function: the types of its arguments and of its result come from its signature. */
export type Downcall<
  Signature extends FunctionSignature = FunctionSignature,
  Options extends DowncallOptions = {},
> = NativeFunction<
  IsKnown<Signature> extends true ? [...Allocators<Signature>, ...ArgumentsOf<Signature>] : Argument[],
  Linked<Signature, Options>
>

/** Whether the compiler knows the parameters of a signature, and not only that there may be some. */
type IsKnown<Signature> = Signature extends { readonly parameters: readonly unknown[] }
  ? true
  : 'parameters' extends keyof Signature
    ? false
    : true

/** An argument of a function whose signature the compiler does not know. Memory is passed as segments, never as addresses. */
type Argument = Value | AllocatorLike

/** See `Linker.downcall`. */
export const downcall = (symbol: MemorySegment, signature: FunctionSignature, options?: DowncallOptions): Call =>
  namedDowncall(symbol, signature, options, undefined)

/** As {@link downcall}. @param names the names of parameters in messages, which have their position otherwise */
export function namedDowncall(
  symbol: MemorySegment,
  signature: FunctionSignature,
  options: DowncallOptions | undefined,
  names: readonly string[] | undefined,
): Call {
  const { captureErrno, critical } = checkOptions(options, ['captureErrno', 'critical'])
  checkBoolean(captureErrno, 'captureErrno')
  checkBoolean(critical, 'critical')
  const { block, base } = checkSegment(symbol, 'symbol')
  const { result, parameters, fixedParameters } = checkSignature(signature)
  const address = addressIn(block, base)!
  if (address === 0) throw new ArgumentError('symbol must be a function, got the null pointer')
  if (typeof address === 'bigint') throw new ArgumentError(`symbol must be a function, got the address ${hex(address)}`)
  block.gate.owner.checkAlive()
  const name = symbol instanceof SymbolSegment ? symbol.name : 'the function'
  if (isVariable(symbol, address)) throw new ArgumentError(`symbol must be a function, got the variable ${name}`)
  const capturesErrno = captureErrno === true
  const types = {
    result: result === 'void' ? result : coreTypeOf(result),
    parameters: parameters.map(coreTypeOf),
    ...(fixedParameters === undefined ? {} : { fixedParameters }),
  }
  const bound = bindFunction(block.gate, name, address, types, {
    captureErrno: capturesErrno,
    critical: critical === true,
    pointer: pointerAt,
    names,
  })
  const call = result instanceof GroupLayout ? intoAllocator(bound, result, capturesErrno) : (bound as Call)
  Object.defineProperty(call, 'name', { value: name })
  return printAs(`${name}(${parameters.join(', ')}): ${result}`, call)
}

/** An address alone may be that of code which no library has. */
function isVariable(symbol: MemorySegment, address: number): boolean {
  if (symbol instanceof SymbolSegment && symbol.library !== undefined) return !symbol.library.isFunction(symbol.name)
  return coreFunctions().tn_address_is_data(address) !== 0
}

const pointerAt = (address: number | bigint): MemorySegment => MemorySegment.ofPointer(address)

export type Bound = NativeFunction<readonly Value[], Value | ValueWithErrno>

type Call = NativeFunction<Argument[], Result | WithErrno>

/** Allocates the result before the call, so that the function does not run if there is no memory. */
export function intoAllocator(bound: Bound, layout: GroupLayout, capturesErrno: boolean): Call {
  const allocate = (allocator: AllocatorLike): MemorySegment => {
    const target = allocateFrom(allocator, sizeOf(layout), layout.byteAlignment)
    rangeForWrite(target, target.block, 0, target.byteSize)
    return target
  }
  const finish = (target: MemorySegment, result: Value | ValueWithErrno): Result | WithErrno =>
    capturesErrno ? { value: target, errno: (result as ValueWithErrno).errno } : target
  const made = Object.assign(
    (allocator: Argument, ...values: readonly Argument[]) => {
      const target = allocate(allocator as AllocatorLike)
      return finish(target, bound(target, ...(values as Value[])))
    },
    {
      async: async (allocator: Argument, ...values: readonly Argument[]) => {
        const target = allocate(allocator as AllocatorLike)
        return finish(target, await bound.async(target, ...(values as Value[])))
      },
    },
  )
  setArgumentCheck(made, ([allocator, ...values], isAsync) =>
    checkArguments(bound, [allocate(allocator as AllocatorLike), ...values], isAsync),
  )
  return made
}
