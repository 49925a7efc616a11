import {
  checkOptions,
  checkUsable,
  type Gate,
  makeStub,
  type Stub,
  type StubArgument,
  type StubOptions,
  type StubSettings,
  StructType,
  wrongType,
  wrongValue,
  type Value,
} from '@tenon/core/internal'
import { checkBoolean, checkFunction } from '../check.ts'
import { counters } from '../diagnostics/stats.ts'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { ConfinedNativeScope } from '../scope/confined-native-scope.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkSignature, coreTypeOf, type FunctionSignature } from './signature.ts'
import { SymbolSegment } from './symbol-segment.ts'

type MakeRun = Parameters<typeof makeStub>[1]

/** A function for native code. It receives pointers as segments of size 0, and structs as segments valid for the call. */
export type UpcallFunction = (...values: never[]) => Value | void

/**
 * Makes a TypeScript function callable by native code until the scope closes. From then on, and in the other cases below, a
 * call returns `refusedResult` and does not run the function, however late it comes.
 *
 * If the function throws, the call returns `refusedResult` to native code, later callbacks during the same native call do not
 * run, and the native call throws the error. Calls from other threads wait until the event loop of this thread runs the
 * function (see {@link StubOptions}). A synchronous native call that waits for such a thread is a deadlock, so by default the
 * thread is refused after 0.1 s. If a function that another thread calls throws, no JavaScript caller can receive the error, so
 * it becomes an uncaught exception.
 *
 * @throws {AllocationError} if the process has used 1,048,576 addresses for stubs.
 * @throws {ArgumentError} if the signature or an option is not valid. @throws {ScopeClosedError} once closing has begun.
 * @example
 * const compare = upcallStub(
 *   (a: MemorySegment, b: MemorySegment) => a.getInt32(0) - b.getInt32(0),
 *   { result: 'int32', parameters: ['pointer', 'pointer'] },
 *   scope,
 * )
 */
export function upcallStub(
  run: UpcallFunction,
  signature: FunctionSignature,
  scope: ResourceScope,
  options?: StubOptions,
): MemorySegment {
  checkFunction(run, 'run')
  const { result, parameters, fixedParameters } = checkSignature(signature)
  const owner = checkScope(scope)
  if (!(owner instanceof ManagedScope)) {
    const hint = 'Create the stub in a scope that you close, for example ResourceScope.ofConfined().'
    throw wrongType('the scope of a stub', 'a scope with close()', owner, hint)
  }
  const types: NativeStubType[] = []
  for (let i = 0; i < parameters.length; i++) types.push(coreTypeOf(parameters[i]!))
  const { gate } = owner
  const { name } = run
  const stub = makeStub(
    { result: result === 'void' ? result : coreTypeOf(result), parameters: types, fixedParameters },
    makeRunOf(run, gate, types),
    options === undefined ? NO_OPTIONS : checkStubOptions(options),
    'the result of a callback',
  )
  try {
    owner.addCloseAction(closing(stub))
  } catch (error) {
    // A getter of the arguments has closed the scope.
    stub.close()
    throw error
  }
  counters.liveStubs++
  return new SymbolSegment(gate, stub.address, name === '' ? 'the callback' : `the callback ${name}`)
}

const NO_OPTIONS: StubSettings = {}

type NativeStubType = ReturnType<typeof coreTypeOf>

const closing = (stub: Stub) => (): void => {
  counters.liveStubs--
  stub.close()
}

// Calls in progress and close actions may call back while the scope is closing. The counter is changed without a call, because
// a call of a method in `finally` fails when the stack has overflowed. Each of these functions is apart, so that a stub keeps
// nothing that it does not use.

function makeRunOf(run: UpcallFunction, gate: Gate, types: readonly NativeStubType[]): MakeRun {
  const hasStructs = types.some((type) => typeof type !== 'string')
  if (!hasStructs && !types.includes('pointer')) return withScalars(run, gate)
  return hasStructs || types.length > 2 ? withMemory(run, gate, types, hasStructs) : withPointers(run, gate, types)
}

function withScalars(run: UpcallFunction, gate: Gate): MakeRun {
  return (complete) =>
    (...values) => {
      const hasEntered = gate.open
      if (hasEntered) gate.calls++
      try {
        return complete(openResult(run(...(values as never[]))))
      } finally {
        if (hasEntered) gate.calls--
      }
    }
}

/** For at most two arguments, of which none is a struct: no array is made. */
function withPointers(run: UpcallFunction, gate: Gate, types: readonly NativeStubType[]): MakeRun {
  const [isPointer, isSecondPointer] = [types[0] === 'pointer', types[1] === 'pointer']
  const call = run as (...values: unknown[]) => Value | void
  const pointerAt = (address: StubArgument): MemorySegment => MemorySegment.ofPointer(address as number | bigint)
  const isSingle = types.length === 1
  return (complete) => (a, b) => {
    const hasEntered = gate.open
    if (hasEntered) gate.calls++
    try {
      const first = isPointer ? pointerAt(a) : a
      return complete(openResult(isSingle ? call(first) : call(first, isSecondPointer ? pointerAt(b) : b)))
    } finally {
      if (hasEntered) gate.calls--
    }
  }
}

function withMemory(run: UpcallFunction, gate: Gate, types: readonly NativeStubType[], hasStructs: boolean): MakeRun {
  return (complete) => {
    const invoke = (values: readonly StubArgument[], memory: ConfinedNativeScope | undefined): Value =>
      openResult(run(...(values.map((value, i) => argumentOf(types[i]!, value, memory)) as never[])))
    return (...values) => {
      const hasEntered = gate.open
      if (hasEntered) gate.calls++
      try {
        return hasStructs
          ? new ConfinedNativeScope(undefined).run((memory) => complete(invoke(values, memory)))
          : complete(invoke(values, undefined))
      } finally {
        if (hasEntered) gate.calls--
      }
    }
  }
}

/** Returns the result of a function. @throws {ScopeClosedError | WrongThreadError} if it is memory that is not open. */
function openResult(given: Value | void): Value {
  if (given instanceof MemorySegment) checkUsable(given.block)
  return given as Value
}

function argumentOf(type: ReturnType<typeof coreTypeOf>, value: StubArgument, memory?: ConfinedNativeScope): unknown {
  if (type instanceof StructType) {
    const segment = memory!.allocate(type.byteSize, type.byteAlignment)
    segment.block.bytes.set(value as Uint8Array, segment.base)
    return segment
  }
  return type === 'pointer' ? MemorySegment.ofPointer(value as number | bigint) : value
}

const FOREIGN_THREADS: ReadonlySet<unknown> = new Set(['refuse', 'wait', 'relay', undefined])

/** @throws {ArgumentError} if an option does not exist or is not valid. */
function checkStubOptions(options: StubOptions): StubSettings {
  const checked = checkOptions(options, ['foreignThread', 'timeout', 'unsafeReuse', 'refusedResult'])
  const { foreignThread, timeout, unsafeReuse, refusedResult } = checked
  if (!FOREIGN_THREADS.has(foreignThread)) {
    throw wrongValue('foreignThread', '"refuse", "wait" or "relay"', foreignThread)
  }
  if (timeout !== undefined && (typeof timeout !== 'number' || !(timeout >= 0))) {
    throw wrongValue('timeout', 'a number of milliseconds, or Infinity', timeout)
  }
  checkBoolean(unsafeReuse, 'unsafeReuse')
  return { foreignThread, timeout: timeout === undefined ? timeout : Math.ceil(timeout), unsafeReuse, refusedResult }
}
