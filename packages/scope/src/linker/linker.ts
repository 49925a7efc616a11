import { ArgumentError, type NativeFunction } from '@tenon/core'
import {
  addressIn,
  bindFunction,
  checkOptions,
  coreFunctions,
  hex,
  type ValueWithErrno,
  type Value,
} from '@tenon/core/internal'
import { allocateFrom, type AllocatorLike } from '../allocator/check-allocator.ts'
import { checkBoolean } from '../check.ts'
import { StructLayout } from '../layout/group-layout.ts'
import { sizeOf } from '../layout/memory-layout.ts'
import { printAs } from '../print-as.ts'
import { rangeForWrite } from '../segment/locate.ts'
import { checkSegment, MemorySegment } from '../segment/memory-segment.ts'
import { checkSignature, coreTypeOf, type FunctionSignature } from './signature.ts'
import { SymbolSegment } from './symbol-segment.ts'
import { upcallStub } from './upcall-stub.ts'

/** An argument of a native function. Memory is passed as segments, never as addresses. */
export type Argument = Value | AllocatorLike

/** A result of a native function. A pointer is a segment of size 0, and a struct is in memory from the allocator. */
export type Result = number | bigint | boolean | MemorySegment | undefined

type ResultOfType<Type> = Type extends 'pointer' | StructLayout
  ? MemorySegment
  : Type extends 'int64' | 'uint64'
    ? bigint
    : Type extends 'bool'
      ? boolean
      : Type extends 'void' | undefined
        ? undefined
        : number

/** The result of a function with this signature. */
export type ResultOf<Signature extends FunctionSignature> = 'result' extends keyof Signature
  ? ResultOfType<Signature['result']>
  : undefined

/** A native function. A function that returns a struct takes an allocator as its first argument. */
export interface Downcall<Returned extends Result = Result> {
  (...values: readonly Argument[]): Returned
  /**
   * Runs the function on another thread. All memory, stubs and libraries of the call are held open until the function has
   * returned.
   *
   * @throws the errors of a call, synchronously, if an argument is not valid. For errors in callbacks, see
   * {@link upcallStub}.
   */
  readonly async: (...values: readonly Argument[]) => Promise<Returned>
}

/** A result, and the value of `errno` after the call. */
export interface WithErrno<Returned extends Result = Result> {
  readonly value: Returned
  readonly errno: number
}

/** A native function that returns `errno` together with its result. */
export interface DowncallWithErrno<Returned extends Result = Result> {
  (...values: readonly Argument[]): WithErrno<Returned>
  /** Runs the function on another thread, as {@link Downcall.async} does, and returns the `errno` of that thread. */
  readonly async: (...values: readonly Argument[]) => Promise<WithErrno<Returned>>
}

/** Options for linking a function. */
export interface DowncallOptions {
  /** Whether to return `errno` together with the result. */
  readonly captureErrno?: boolean
}

/** The function for a symbol. With `captureErrno`, it returns `errno` beside the result. */
export type Linked<Returned extends Result, Options extends DowncallOptions> = Options extends {
  readonly captureErrno: true
}
  ? DowncallWithErrno<Returned>
  : Options extends { readonly captureErrno?: false }
    ? Downcall<Returned>
    : Downcall<Returned> | DowncallWithErrno<Returned>

/** The functions of {@link Linker}. */
export interface Linkers {
  /**
   * Makes a native function callable. A call checks its arguments, and holds the scopes of all its segments, stubs and
   * libraries open while it runs.
   *
   * @param symbol a symbol from a `SymbolLookup`, or any segment at the function's address.
   * @throws {ArgumentError} if the symbol is null or the signature is not valid. @throws {ScopeClosedError}
   * @example
   * const libc = SymbolLookup.ofProcess()
   * const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['pointer'] })
   * strlen(toCString('cos', scope)) // 3n
   */
  downcall<const Signature extends FunctionSignature, const Options extends DowncallOptions = {}>(
    symbol: MemorySegment,
    signature: Signature,
    options?: Options,
  ): Linked<ResultOf<Signature>, Options>
  /** See {@link upcallStub}. */
  upcallStub: typeof upcallStub
}

function downcall(
  symbol: MemorySegment,
  signature: FunctionSignature,
  options?: DowncallOptions,
): Downcall | DowncallWithErrno {
  const { captureErrno } = checkOptions(options, ['captureErrno'])
  checkBoolean(captureErrno, 'captureErrno')
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
  const bound = bindFunction(block.gate, name, address, types, { captureErrno: capturesErrno })
  const call = callOf(bound, result, capturesErrno) as Downcall | DowncallWithErrno
  Object.defineProperty(call, 'name', { value: name })
  return printAs(`${name}(${parameters.join(', ')}): ${result}`, call)
}

/** An address alone may be that of code which no library has. */
function isVariable(symbol: MemorySegment, address: number): boolean {
  if (symbol instanceof SymbolSegment && symbol.library !== undefined) return !symbol.library.isFunction(symbol.name)
  return coreFunctions().tn_address_is_data(address) !== 0
}

function callOf(bound: Bound, result: FunctionSignature['result'], capturesErrno: boolean): Call {
  if (result instanceof StructLayout) return intoAllocator(bound, result, capturesErrno)
  return (result === 'pointer' ? asPointer(bound, capturesErrno) : bound) as Call
}

type Bound = NativeFunction<Value | ValueWithErrno>

interface Call {
  (...values: readonly Argument[]): Result | WithErrno
  readonly async: (...values: readonly Argument[]) => Promise<Result | WithErrno>
}

const pointerOf = (value: Value): MemorySegment => MemorySegment.ofAddress(value as bigint)

function asPointer(bound: Bound, capturesErrno: boolean): Call {
  const finish = (result: Value | ValueWithErrno): Result | WithErrno => {
    if (!capturesErrno) return pointerOf(result as Value)
    const { value, errno } = result as ValueWithErrno
    return { value: pointerOf(value), errno }
  }
  return Object.assign((...values: readonly Argument[]) => finish(bound(...(values as Value[]))), {
    async: (...values: readonly Argument[]) => bound.async(...(values as Value[])).then(finish),
  })
}

/** Allocates the result before the call, so that the function does not run if there is no memory. */
function intoAllocator(bound: Bound, layout: StructLayout, capturesErrno: boolean): Call {
  const allocate = (allocator: AllocatorLike): MemorySegment => {
    const target = allocateFrom(allocator, sizeOf(layout), layout.byteAlignment)
    rangeForWrite(target, target.block, 0, target.byteSize)
    return target
  }
  const finish = (target: MemorySegment, result: Value | ValueWithErrno): Result | WithErrno =>
    capturesErrno ? { value: target, errno: (result as ValueWithErrno).errno } : target
  return Object.assign(
    (allocator: Argument, ...values: readonly Argument[]) => {
      const target = allocate(allocator as AllocatorLike)
      return finish(target, bound(target, ...(values as Value[])))
    },
    {
      async: (allocator: Argument, ...values: readonly Argument[]) => {
        const target = allocate(allocator as AllocatorLike)
        return bound.async(target, ...(values as Value[])).then((result) => finish(target, result))
      },
    },
  )
}

/** Links native functions and TypeScript functions. */
export const Linker: Linkers = printAs('Linker', { downcall: downcall as Linkers['downcall'], upcallStub })
