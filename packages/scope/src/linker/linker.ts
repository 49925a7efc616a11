import { ArgumentError, type NativeFunction, type Value } from '@tenon/core'
import { bindFunction, describe, errno, type StructValue } from '@tenon/core/internal'
import { allocateFrom, type AllocatorLike } from '../allocator/check-allocator.ts'
import { StructLayout } from '../layout/group-layout.ts'
import { sizeOf } from '../layout/memory-layout.ts'
import { checkOptions } from '../scope/check-options.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkSegment, rangeForWrite } from '../segment/usable.ts'
import { checkSignature, coreTypeOf, type FunctionSignature, structTypeOf } from './signature.ts'
import { symbolName } from './symbol-segment.ts'
import { upcallStub } from './upcall-stub.ts'

/** What is passed to a native function: memory as segments, never as addresses. */
export type Argument = Value | AllocatorLike

/** What comes back: a pointer as a segment without memory, a struct as a segment of the allocator's. */
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

/** What comes back of a function with this signature. */
export type ResultOf<Signature extends FunctionSignature> = 'result' extends keyof Signature
  ? ResultOfType<Signature['result']>
  : undefined

/** A native function. One that returns a struct takes an allocator as its first argument. */
export interface Downcall<Returned extends Result = Result> {
  (...values: readonly Argument[]): Returned
  /**
   * Runs it on another thread. All memory, stubs and libraries that it uses are held open until it has returned.
   *
   * @throws as a call does, at once, if an argument is not valid. What a callback throws is no call's: see {@link upcallStub}.
   */
  readonly async: (...values: readonly Argument[]) => Promise<Returned>
}

/** A result, and what the call left in `errno`. */
export interface WithErrno<Returned extends Result = Result> {
  readonly value: Returned
  readonly errno: number
}

/** A native function of which `errno` is captured. */
export type DowncallWithErrno<Returned extends Result = Result> = (
  ...values: readonly Argument[]
) => WithErrno<Returned>

/** How a function is linked. */
export interface DowncallOptions {
  /** Give `errno` back with the result. */
  readonly captureErrno?: boolean
}

interface Linkers {
  /**
   * Makes a native function callable. A call checks its arguments, and holds the scopes of all segments, stubs and
   * libraries
   * that it touches open while it runs.
   *
   * @param symbol of a `SymbolLookup`, or any segment at the function's address.
   * @throws {ArgumentError} if the symbol is null or the signature is not valid. @throws {ScopeClosedError}
   * @example
   * const strlen = Linker.downcall(SymbolLookup.ofProcess().get('strlen'), { result: 'uint64', parameters: ['pointer']
   * })
   * strlen(toCString('cos', scope)) // 3n
   */
  downcall<const Signature extends FunctionSignature>(
    symbol: MemorySegment,
    signature: Signature,
    options?: { readonly captureErrno?: false },
  ): Downcall<ResultOf<Signature>>
  downcall<const Signature extends FunctionSignature>(
    symbol: MemorySegment,
    signature: Signature,
    options: { readonly captureErrno: true },
  ): DowncallWithErrno<ResultOf<Signature>>
  downcall<const Signature extends FunctionSignature>(
    symbol: MemorySegment,
    signature: Signature,
    options: DowncallOptions,
  ): Downcall<ResultOf<Signature>> | DowncallWithErrno<ResultOf<Signature>>
  /** See {@link upcallStub}. */
  upcallStub: typeof upcallStub
}

/** Converts what a call gave, once it has returned. */
type Finish = (value: Value) => Result

function downcall(
  symbol: MemorySegment,
  signature: FunctionSignature,
  options: DowncallOptions = {},
): Downcall | DowncallWithErrno {
  const { captureErrno = false } = checkOptions(options)
  if (typeof captureErrno !== 'boolean') {
    throw new ArgumentError(`captureErrno must be true or false, got ${describe(captureErrno)}`)
  }
  const { block, base } = checkSegment(symbol, 'symbol')
  checkSignature(signature)
  const address = block.address + base
  if (address === 0) throw new ArgumentError('symbol must be a function, it is the null pointer')
  block.gate.owner.checkAlive()
  const { result = 'void', parameters = [], fixedParameters } = signature
  const bound = bindFunction(block.gate, symbolName(symbol), address, {
    result: result === 'void' ? result : coreTypeOf(result),
    parameters: parameters.map(coreTypeOf),
    ...(fixedParameters === undefined ? {} : { fixedParameters }),
  })
  const call =
    result instanceof StructLayout ? intoAllocator(bound, result) : result === 'pointer' ? asPointer(bound) : bound
  return captureErrno ? withErrno(call as Downcall) : (call as Downcall)
}

const pointerOf: Finish = (value) => MemorySegment.ofAddress(value as bigint)

function asPointer(bound: NativeFunction<Value>): Downcall {
  return Object.assign((...values: readonly Argument[]) => pointerOf(bound(...(values as Value[]))), {
    async: (...values: readonly Argument[]) => bound.async(...(values as Value[])).then(pointerOf),
  })
}

/** The allocator is asked once, before the call: if it has no memory, nothing runs. */
function intoAllocator(bound: NativeFunction<Value>, layout: StructLayout): Downcall {
  const type = structTypeOf(layout)
  const prepare = (values: readonly Argument[]): [MemorySegment, Value[]] => {
    if (values.length === 0)
      throw new ArgumentError('the first argument must be an allocator for the struct returned, got none')
    const [allocator, ...rest] = values
    const target = allocateFrom(allocator as AllocatorLike, sizeOf(layout), layout.byteAlignment)
    rangeForWrite(target, 0, target.byteSize)
    return [target, rest as Value[]]
  }
  return Object.assign(
    (...values: readonly Argument[]) => {
      const [target, rest] = prepare(values)
      const { gate } = target.block
      gate.enter()
      try {
        type.write(target, bound(...rest) as StructValue)
      } finally {
        gate.exit()
      }
      return target
    },
    {
      async: (...values: readonly Argument[]) => {
        const [target, rest] = prepare(values)
        const hold = target.lifetime.acquire()
        try {
          const pending = bound.async(...rest).then((value) => {
            type.write(target, value as StructValue)
            return target
          })
          return pending.finally(() => hold.release())
        } catch (error) {
          hold.release()
          throw error
        }
      },
    },
  )
}

function withErrno(call: Downcall): DowncallWithErrno {
  return (...values) => {
    const value = call(...values)
    return { value, errno: errno() }
  }
}

/** Links native functions and TypeScript functions. */
export const Linker: Linkers = { downcall: downcall as Linkers['downcall'], upcallStub }
