import { AllocationError, type Value, type ValueType } from '@tenon/core'
import {
  checkUsable,
  converterOf,
  cTypeOf,
  registerCallback,
  StructType,
  type StructValue,
  unregisterCallback,
  wrongType,
} from '@tenon/core/internal'
import { checkFunction } from '../check.ts'
import { counters } from '../diagnostics/stats.ts'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { ConfinedNativeScope } from '../scope/confined-native-scope.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkSignature, coreTypeOf, type FunctionSignature } from './signature.ts'
import { SymbolSegment } from './symbol-segment.ts'

/** A function for native code. It receives pointers as segments of size 0, and structs as segments valid for the call. */
export type UpcallFunction = (...values: never[]) => Value | void

/**
 * Makes a TypeScript function callable by native code until the scope closes.
 *
 * If the function throws, it returns 0 to native code, later callbacks during the same native call return 0 without running,
 * and the native call throws the error. Calls from other threads wait for this thread, and return 0 after the scope has
 * closed. If such a call throws, no JavaScript caller can receive the error, so it becomes an uncaught exception.
 *
 * @throws {AllocationError} if all 8192 stubs of the process are in use.
 * @throws {ArgumentError} if the signature is not valid. @throws {ScopeClosedError} once closing has begun.
 * @example
 * const compare = upcallStub(
 *   (a: MemorySegment, b: MemorySegment) => a.reinterpret(4).getInt32(0) - b.reinterpret(4).getInt32(0),
 *   { result: 'int32', parameters: ['pointer', 'pointer'] },
 *   scope,
 * )
 */
export function upcallStub(run: UpcallFunction, signature: FunctionSignature, scope: ResourceScope): MemorySegment {
  checkFunction(run, 'run')
  const { result = 'void', parameters = [] } = checkSignature(signature)
  const owner = checkScope(scope)
  if (!(owner instanceof ManagedScope)) {
    const hint = 'Create the stub in a scope that you close, for example ResourceScope.ofConfined().'
    throw wrongType('the scope of a stub', 'a scope with close()', owner, hint)
  }
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
    // Calls in progress and close actions may call back while the scope is closing, native threads even after that.
    const hasEntered = gate.tryEnter()
    if (!gate.alive) return resultType instanceof StructType ? {} : 0
    try {
      return hasStructs
        ? new ConfinedNativeScope(undefined).run((memory) => invoke(values, memory))
        : invoke(values, undefined)
    } finally {
      if (hasEntered) gate.exit()
    }
  }
  const address = register(trampoline, cResult, cTypes)
  counters.liveStubs++
  owner.addCloseAction(() => {
    counters.liveStubs--
    unregisterCallback(address)
  })
  return new SymbolSegment(gate, address, run.name === '' ? 'the callback' : `the callback ${run.name}`)
}

function register(...[trampoline, result, parameters]: Parameters<typeof registerCallback>): number {
  try {
    return registerCallback(trampoline, result, parameters)
  } catch (cause) {
    if (!/too many callbacks/i.test((cause as Error).message)) throw cause
    throw new AllocationError('a process can have at most 8192 stubs, and all are in use', {
      hint: 'Close scopes with stubs that you no longer need. ResourceScope.stats() counts the stubs.',
      cause,
    })
  }
}

function argumentOf(type: ValueType | StructType, value: unknown, memory: ConfinedNativeScope | undefined): unknown {
  if (type instanceof StructType) {
    const segment = memory!.allocate(type.byteSize, type.byteAlignment)
    type.write(segment, value as StructValue)
    return segment
  }
  if (type === 'pointer') return MemorySegment.ofAddress(value as number | bigint)
  if (type === 'int64') return BigInt(value as number | bigint)
  // The driver passes the upper half of uint64 as negative numbers.
  return type === 'uint64' ? BigInt.asUintN(64, BigInt(value as number | bigint)) : value
}
