import { AllocationError, ArgumentError, type Value, type ValueType } from '@tenon/core'
import {
  checkUsable,
  converterOf,
  cTypeOf,
  describe,
  registerCallback,
  StructType,
  type StructValue,
  unregisterCallback,
} from '@tenon/core/internal'
import { counters } from '../diagnostics/counters.ts'
import { type AnyScope, checkScope } from '../scope/check-scope.ts'
import { ConfinedNativeScope } from '../scope/confined-native-scope.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkSignature, coreTypeOf, type FunctionSignature } from './signature.ts'
import { symbolSegment } from './symbol-segment.ts'

/**
 * A TypeScript function for native code. Pointers come as segments without memory, structs as segments that die at its
 * end.
 */
export type UpcallFunction = (...values: never[]) => Value | void

/**
 * Makes a function of TypeScript callable by native code, until the scope closes.
 *
 * If it throws, native code gets 0, the other callbacks of the same call give 0 without running, and the error comes
 * out of
 * the call. A call of native code's own threads, or of a call on another thread, waits for this thread; after the scope
 * has closed it gets 0. What the function throws then has no caller here: it is an uncaught exception of the process.
 *
 * @throws {AllocationError} when the 8192 stubs that a process can have are all in use.
 * @throws {ArgumentError} if the signature is not valid. @throws {ScopeClosedError} once closing has begun.
 * @example
 * const compare = upcallStub(
 *   (a: MemorySegment, b: MemorySegment) => a.reinterpret(4).getInt32(0) - b.reinterpret(4).getInt32(0),
 *   { result: 'int32', parameters: ['pointer', 'pointer'] },
 *   scope,
 * )
 */
export function upcallStub(run: UpcallFunction, signature: FunctionSignature, scope: AnyScope): MemorySegment {
  if (typeof run !== 'function') throw new ArgumentError(`run must be a function, got ${describe(run)}`)
  checkSignature(signature)
  const owner = checkScope(scope)
  if (!(owner instanceof ManagedScope)) {
    throw new ArgumentError('a stub needs a scope that is closed by hand, got one that is not', {
      hint: 'nobody could know when native code has forgotten it.',
    })
  }
  const { result = 'void', parameters = [] } = signature
  const resultType = result === 'void' ? undefined : coreTypeOf(result)
  const types = parameters.map(coreTypeOf)
  const [cResult, cTypes] = [resultType === undefined ? 'void' : cTypeOf(resultType), types.map(cTypeOf)]
  const toC = resultType === undefined ? undefined : converterOf(resultType)
  const hasStructs = types.some((type) => type instanceof StructType)
  const { gate } = owner
  const invoke = (values: readonly unknown[], memory: ConfinedNativeScope | undefined): unknown => {
    const given = run(...(values.map((value, i) => argumentOf(types[i]!, value, memory)) as never[]))
    if (given instanceof MemorySegment) checkUsable(given.block)
    return toC?.(given as Value, -1, 'the result of a callback')
  }
  const trampoline = (...values: unknown[]): unknown => {
    // Native threads may be late.
    if (!gate.tryEnter()) return resultType instanceof StructType ? {} : 0
    try {
      return hasStructs
        ? new ConfinedNativeScope(undefined).run((memory) => invoke(values, memory))
        : invoke(values, undefined)
    } finally {
      gate.exit()
    }
  }
  const address = register(trampoline, cResult, cTypes)
  counters.liveStubs++
  owner.addCloseAction(() => {
    counters.liveStubs--
    unregisterCallback(address)
  })
  return symbolSegment(gate, address, run.name === '' ? 'the callback' : `the callback ${run.name}`)
}

function register(...[trampoline, result, parameters]: Parameters<typeof registerCallback>): number {
  try {
    return registerCallback(trampoline, result, parameters)
  } catch (cause) {
    if (!/too many callbacks/i.test((cause as Error).message)) throw cause
    throw new AllocationError('there is no place for another stub: a process can have 8192', {
      hint: 'close scopes with stubs that are not needed any more; ResourceScope.stats() counts them.',
      cause,
    })
  }
}

/** What the function gets for a value of C. */
function argumentOf(type: ValueType | StructType, value: unknown, memory: ConfinedNativeScope | undefined): unknown {
  if (type instanceof StructType) {
    const segment = memory!.allocate(type.byteSize, type.byteAlignment)
    type.write(segment, value as StructValue)
    return segment
  }
  if (type === 'pointer') return MemorySegment.ofAddress(value as number | bigint)
  if (type === 'int64') return BigInt(value as number | bigint)
  // The driver gives callbacks the upper half as negative numbers.
  return type === 'uint64' ? BigInt.asUintN(64, BigInt(value as number | bigint)) : value
}
