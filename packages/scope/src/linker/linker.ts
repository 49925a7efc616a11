import { ArgumentError, type NativeFunction, type Value } from '@tenon/core'
import { bindFunction, errno, type StructValue } from '@tenon/core/internal'
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

/** A native function. One that returns a struct takes an allocator as its first argument. */
export interface Downcall {
  (...values: readonly Argument[]): Result
  /** Runs it on another thread. All memory, stubs and libraries that it uses are held open until it has returned. */
  readonly async: (...values: readonly Argument[]) => Promise<Result>
}

/** A result, and what the call left in `errno`. */
export interface WithErrno {
  readonly value: Result
  readonly errno: number
}

/** A native function of which `errno` is captured. */
export type DowncallWithErrno = (...values: readonly Argument[]) => WithErrno

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
  downcall(symbol: MemorySegment, signature: FunctionSignature): Downcall
  downcall(symbol: MemorySegment, signature: FunctionSignature, options: { captureErrno: true }): DowncallWithErrno
  downcall(symbol: MemorySegment, signature: FunctionSignature, options?: DowncallOptions): Downcall | DowncallWithErrno
  /** See {@link upcallStub}. */
  upcallStub: typeof upcallStub
}

/** Converts what a call gave, once it has returned. */
type Finish = (value: Value) => Result

function downcall(symbol: MemorySegment, signature: FunctionSignature): Downcall
function downcall(
  symbol: MemorySegment,
  signature: FunctionSignature,
  options: { captureErrno: true },
): DowncallWithErrno
function downcall(
  symbol: MemorySegment,
  signature: FunctionSignature,
  options?: DowncallOptions,
): Downcall | DowncallWithErrno
function downcall(
  symbol: MemorySegment,
  signature: FunctionSignature,
  options: DowncallOptions = {},
): Downcall | DowncallWithErrno {
  checkOptions(options)
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
  return options.captureErrno === true ? withErrno(call as Downcall) : (call as Downcall)
}

const pointerOf: Finish = (value) => MemorySegment.ofAddress(value as bigint)

function asPointer(bound: NativeFunction<Value>): Downcall {
  return Object.assign((...values: readonly Argument[]) => pointerOf(bound(...(values as Value[]))), {
    async: async (...values: readonly Argument[]) => pointerOf(await bound.async(...(values as Value[]))),
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
      async: async (...values: readonly Argument[]) => {
        const [target, rest] = prepare(values)
        const { gate } = target.block
        gate.enter()
        try {
          type.write(target, (await bound.async(...rest)) as StructValue)
        } finally {
          gate.exit()
        }
        return target
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
export const Linker: Linkers = { downcall, upcallStub }
