import { wrongType } from '../errors/check-arguments.ts'
import { describe } from '../errors/describe.ts'
import { ArgumentError } from '../errors/kinds.ts'
import { checkOptions } from '../errors/check-options.ts'
import { inspectAsText } from '../errors/inspect.ts'
import type { Block } from '../memory/block.ts'
import { guardMode } from '../memory/guard-mode.ts'
import { checkedCall } from '../memory/guarded-calls.ts'
import { globalGate } from '../memory/global-lifetime.ts'
import { holdAll, releaseAll, type Gate } from '../memory/lifetime.ts'
import { pointerBlock } from '../memory/pointer-address.ts'
import { Segment } from '../memory/segment.ts'
import { checkType, checkVariadic, type Value } from './argument-conversion.ts'
import { formOf } from './call/call-forms.ts'
import { operandsOf, resolveAll, traceOf, writtenBy } from './call/general-form.ts'
import { begin, check, checkOperands, finish, type Target, type ValueWithErrno } from './call/call-steps.ts'
import type { CallPlan } from './call/call-plan.ts'
import { threadDriver } from './call/thread-driver.ts'
import { FLAGS } from './call/frame-layout.ts'
import { TWO_32 } from './call/frame.ts'
import { hostAbi } from './call/host-abi.ts'
import { submitCall } from './call/jobs.ts'
import { MAXIMUM_PARAMETERS, planCall } from './call/plan.ts'
import { codeOperand, slotOf, store, targetSlot, type Resolved } from './call/store.ts'
import { moveTexts } from './call/texts.ts'
import type { FunctionSignature, NativeFunction } from './function-types.ts'
import { setArgumentCheck } from './argument-checks.ts'
import { keepAlive } from './native-memory.ts'
import { callNamed, profiling } from '../tracing/named-call.ts'
import { isTraced, traceLater } from '../tracing/tracing.ts'
import type { StructType } from './struct-type.ts'
import type { ValueType } from './value-type.ts'

/** A declaration that can have structs, which are written to the segment that is passed as the first argument. */
type Signature = FunctionSignature<StructType>

interface BindOptions {
  /** Whether the function returns its result together with `errno`. */
  readonly captureErrno?: boolean
  /** Whether calls on this thread run on the stack of JavaScript, and restore nothing: see `DowncallOptions` of `@tenon/scope`. */
  readonly critical?: boolean
  /** Makes the result of a function that returns a pointer. */
  readonly pointer?: (address: number | bigint) => Segment
  /** The names of parameters in messages, which have their position otherwise. */
  readonly names?: readonly string[] | undefined
}

const pointerAt = (address: number | bigint): Segment => new Segment(pointerBlock(globalGate, address), 0, 0, 0)

/**
 * Makes a native function from an address.
 *
 * @param gate the gate of the code's owner, which stays open while the function runs.
 * @param name the name of the function in messages.
 * @throws {ArgumentError} if the signature is not valid, or contains an unknown type.
 */
export function bindFunction(
  gate: Gate,
  name: string,
  address: number,
  signature: Signature,
  { captureErrno = false, critical = false, pointer = pointerAt, names }: BindOptions = {},
): NativeFunction<readonly Value[], Value | ValueWithErrno> {
  const parameters = parametersOf(signature)
  const { result = 'void', fixedParameters } = signature
  if (result !== 'void') checkType(result)
  if (fixedParameters !== undefined) checkVariadic(parameters, fixedParameters)
  const plan = planCall(hostAbi(), { result, parameters, fixedParameters })
  const target = targetOf(gate, name, address, plan, { captureErrno, critical, pointer, names })
  const call = formOf(target)
  Object.defineProperty(call, 'name', { value: name })
  const made = Object.assign(call, { async: asyncOf(target) })
  setArgumentCheck(made, (values, isAsync) => checkOnly(target, values as readonly Value[], isAsync))
  // An assignment would fail if the program has frozen Function.prototype.
  Object.defineProperty(made, 'toString', { value: () => `NativeFunction ${name}`, configurable: true })
  inspectAsText({ prototype: made })
  return made
}

/** Copies the parameters, so that the checked types are the declared types. @throws {ArgumentError} */
function parametersOf(signature: Signature): readonly (ValueType | StructType)[] {
  if (typeof signature !== 'object' || signature === null) {
    throw wrongType('signature', 'an object with result and parameters', signature)
  }
  const known = ['result', 'parameters', 'fixedParameters'] as const
  const parameters: unknown = checkOptions(signature, known, 'signature').parameters ?? []
  // Array.from() reads the holes of an array, which map() omits.
  if (Array.isArray(parameters)) return Array.from(parameters as (ValueType | StructType)[], checkType)
  throw wrongType('parameters', `an array of at most ${MAXIMUM_PARAMETERS} types`, parameters)
}

function targetOf(
  gate: Gate,
  name: string,
  address: number,
  plan: CallPlan,
  { captureErrno, critical, pointer, names }: Required<BindOptions>,
): Target {
  const slots = plan.parameters.map((parameter, i) => slotOf(parameter, plan, argumentName(name, i, names)))
  const { kind, word, pieces } = plan.result
  const { enter, enterWithTexts } = namedEntries(name)
  const returnsStruct = kind === 'struct' || kind === 'memory'
  if (returnsStruct) slots.unshift(targetSlot(plan, `the result of ${name}`))
  return {
    name,
    gate,
    code: codeOperand(gate),
    enter,
    enterWithTexts,
    low: address | 0,
    high: (address / TWO_32) | 0,
    flags: plan.flags | (captureErrno ? FLAGS.ERRNO : 0) | (critical ? leafFlags() : 0),
    stackSize: plan.stackSize,
    extra: plan.vectorCount,
    slots,
    count: slots.length,
    texts: slots.filter((slot) => slot.kind === 'text'),
    resultKind: kind === 'memory' ? 'void' : kind,
    resultWord: word,
    resultPieces: pieces,
    capturesErrno: captureErrno,
    pointer,
    fastResult: captureErrno ? undefined : fastResultOf(kind),
  }
}

function fastResultOf(kind: CallPlan['result']['kind']): Target['fastResult'] {
  if (kind === 'memory') return 'void'
  return kind === 'void' || kind === 'int32' || kind === 'float64' || kind === 'int64' ? kind : undefined
}

/** The entries of native code. In a profile they have the name of the function. */
function namedEntries(name: string): Pick<Target, 'enter' | 'enterWithTexts'> {
  const { enter, enterWithTexts } = threadDriver()
  if (!profiling) return { enter, enterWithTexts }
  const withTexts = enterWithTexts && ((...strings: readonly unknown[]) => callNamed(name, enterWithTexts, ...strings))
  return { enter: () => callNamed(name, enter), enterWithTexts: withTexts }
}

/** The flags of a critical function. In guard mode, what it promises is checked. */
const leafFlags = (): number => (guardMode ? FLAGS.LEAF | FLAGS.CHECKED : FLAGS.LEAF)

/** How messages name an argument: by the name of its parameter, or by its position. */
export const argumentName = (name: string, index: number, names: readonly string[] | undefined): string =>
  `${names?.[index] ?? `argument ${index + 1}`} of ${name}`

/** Checks the arguments as a call does, up to the point at which it enters C. */
function checkOnly(target: Target, values: readonly Value[], isAsync: boolean): void {
  const { slots } = target
  check(target, values.length)
  const operands = operandsOf(target, values)
  const resolved = resolveAll(target, values, operands)
  if (isAsync) refuseViews(target, values, operands)
  const copies = moveTexts(slots, resolved)
  checkOperands(operands)
  begin(target)
  for (let i = 0; i < slots.length; i++) store(slots[i]!, resolved[i])
  copies.forEach(keepAlive)
}

function asyncOf(target: Target): (...values: readonly Value[]) => Promise<Value | ValueWithErrno> {
  const { slots } = target
  // An error of the executor, for example for a wrong argument, rejects the promise.
  const start = (values: readonly Value[]): Promise<Value | ValueWithErrno> =>
    new Promise((resolve, reject) => {
      check(target, values.length)
      const operands = operandsOf(target, values)
      const resolved = resolveAll(target, values, operands)
      refuseViews(target, values, operands)
      const copies = moveTexts(slots, resolved)
      checkOperands(operands)
      const holds = holdAll(new Set(operands))
      try {
        begin(target)
        for (let i = 0; i < slots.length; i++) store(slots[i]!, resolved[i])
        submitCall(() => {
          try {
            resolve(checkedFinish(target, operands, resolved))
          } catch (error) {
            reject(error)
          } finally {
            releaseAll(holds)
            copies.forEach(keepAlive)
          }
        })
      } catch (error) {
        releaseAll(holds)
        throw error
      }
    })
  return (...values) => (isTraced() ? traceLater(traceOf(target, values, true), () => start(values)) : start(values))
}

/** @throws {ArgumentError} for a view, whose buffer the program can transfer while the function runs on another thread. */
function refuseViews({ slots, code }: Target, values: readonly Value[], operands: readonly Block[]): void {
  for (let i = 0; i < slots.length; i++) {
    const value = values[i]
    if (operands[i + 1] === code || !ArrayBuffer.isView(value)) continue
    const { name } = slots[i]!
    throw new ArgumentError(`${name} must be memory of an allocator in an asynchronous call, got ${describe(value)}`, {
      hint: 'Copy the values there. If nobody transfers the buffer until the call has ended, from(array) is a tensor over it.',
    })
  }
}

function checkedFinish(
  target: Target,
  operands: readonly Block[],
  resolved: readonly Resolved[],
): Value | ValueWithErrno {
  const run = (): Value | ValueWithErrno => finish(target, operands[1] ?? target.code, resolved[0])
  return guardMode ? checkedCall(target.name, () => writtenBy(target, operands, resolved), run) : run()
}
