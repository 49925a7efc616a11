import {
  checkOptions,
  fromWords,
  makeStub,
  type Stub,
  type StubOptions,
  type StubSettings,
  type StubPlace,
  wrongType,
  wrongValue,
  type Value,
} from '@tenon/core/internal'
import { checkBoolean, checkFunction } from '../check.ts'
import { counters } from '../diagnostics/stats.ts'
import { type ResourceScope, checkScope } from '../scope/check-scope.ts'
import { ConfinedNativeScope } from '../scope/native-scope.ts'
import { ManagedScope } from '../scope/managed-scope.ts'
import { MemorySegment } from '../segment/memory-segment.ts'
import { checkSignature, coreTypeOf, type FunctionSignature } from './signature.ts'
import { SymbolSegment } from './symbol-segment.ts'

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
    run,
    options === undefined ? NO_OPTIONS : checkStubOptions(options),
    'the result of a callback',
    { gate, pointer: pointerAt, withStructs },
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

// Native code that a close action calls may call back while the scope is closing, so the scope is entered only while it is open.

/** Structs are in memory of their own, which ends with the call. */
const withStructs: StubPlace['withStructs'] = (use) =>
  new ConfinedNativeScope(undefined).run((memory) =>
    use((source, word, byteSize, byteAlignment) => {
      const segment = memory.allocate(byteSize, byteAlignment)
      fromWords(source, word, segment.block, segment.base, byteSize)
      return segment
    }),
  )

const pointerAt = (address: number | bigint): MemorySegment => MemorySegment.ofPointer(address)

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
