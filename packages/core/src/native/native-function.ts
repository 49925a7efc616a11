import { wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { ArgumentError, NativeError } from '../errors/kinds.ts'
import { checkEnterable } from '../memory/block.ts'
import { enterCall, leaveCall } from '../memory/call-stack.ts'
import { holdAll, releaseAll, type Gate, type Gated } from '../memory/lifetime.ts'
import { Segment } from '../memory/segment.ts'
import {
  checkVariadic,
  converterOf,
  cTypeOf,
  type Converter,
  type CValue,
  type Value,
  type ValueType,
} from './argument-conversion.ts'
import { type CFunction, functionAt, MAXIMUM_PARAMETERS, variadicFunctionAt } from './driver.ts'
import { StructType } from './struct-type.ts'

/** The C signature of a function. */
export interface Signature {
  /** `void` without it. A pointer comes back as an address: a bigint; a struct as an object of its members. */
  readonly result?: ValueType | StructType | 'void'
  readonly parameters?: readonly (ValueType | StructType)[]
  /** For a variadic function: how many parameters stand before the `...`. All that are passed are in `parameters`. */
  readonly fixedParameters?: number
}

/** A native function that checks its arguments and keeps their memory and its library open while it runs. */
export interface NativeFunction<Result> {
  (...values: readonly Value[]): Result
  /**
   * Runs it on another thread. The memory of its arguments and its library are held open until it has returned.
   *
   * @throws as a call does, at once, if an argument is not valid. @throws {ScopeClosedError} also while one of them is
   * being closed: the call could outlive it. Rejects with a `NativeError` if thousands of calls run already.
   */
  readonly async: (...values: readonly Value[]) => Promise<Result>
}

/** A form of a function: what a call of it does on this thread. */
type Form = (...values: readonly Value[]) => Value

/** A function at an address, and what a call of it needs. */
interface Target {
  readonly name: string
  readonly gate: Gate
  /** What the code belongs to, as an operand: it stands for arguments that are no memory as well. */
  readonly self: Gated
  readonly raw: (...values: CValue[]) => Value
  readonly converters: readonly Converter[]
  /** Whether no argument is memory: then every call has the same operands. */
  readonly isPlain: boolean
  /** Whether the result is a bigint, which the driver gives only for large ones. */
  readonly isWide: boolean
}

/**
 * Makes a native function out of an address. Each number of parameters up to four has a form of its own: rest arrays
 * and loops cost more than the call.
 *
 * @param gate of what the code belongs to: held while the function runs.
 * @param name for messages.
 * @throws {ArgumentError} if the signature is none, or names an unknown type.
 */
export function bindFunction(gate: Gate, name: string, address: number, signature: Signature): NativeFunction<Value> {
  const parameters = parametersOf(signature)
  const { result = 'void', fixedParameters } = signature
  const raw = declare(address, parameters, result, fixedParameters)
  const target: Target = {
    name,
    gate,
    self: { gate },
    raw: raw as Target['raw'],
    converters: parameters.map(converterOf),
    isPlain: parameters.every((type) => type !== 'pointer' && !(type instanceof StructType)),
    isWide: result === 'int64' || result === 'uint64' || result === 'pointer',
  }
  const call = (forms[parameters.length] ?? ofMany)(target)
  Object.defineProperty(call, 'name', { value: name })
  const made = Object.assign(call, { async: asyncOf(target, raw), toString: () => `NativeFunction ${name}` })
  inspectAsText({ prototype: made })
  return made
}

/**
 * The parameters of a signature, copied: what was checked is what is declared. @throws {ArgumentError} if it is none
 */
function parametersOf(signature: Signature): readonly (ValueType | StructType)[] {
  if (typeof signature !== 'object' || signature === null) {
    throw wrongType('signature', 'an object with result and parameters', signature)
  }
  const known = ['result', 'parameters', 'fixedParameters'] as const
  const parameters: unknown = checkOptions(signature, known, 'signature').parameters ?? []
  if (Array.isArray(parameters) && parameters.length <= MAXIMUM_PARAMETERS)
    return [...(parameters as (ValueType | StructType)[])]
  throw wrongType('parameters', `an array of at most ${MAXIMUM_PARAMETERS} types`, parameters)
}

function declare(
  address: number,
  parameters: readonly (ValueType | StructType)[],
  result: ValueType | StructType | 'void',
  fixedParameters: number | undefined,
): CFunction {
  const resultType = result === 'void' ? 'void' : cTypeOf(result)
  const types = parameters.map(cTypeOf)
  if (fixedParameters === undefined) return functionAt(address, resultType, types)
  checkVariadic(parameters, fixedParameters)
  return variadicFunctionAt(address, resultType, types, fixedParameters)
}

/** The form that runs on another thread: it holds what it uses until it is over. */
function asyncOf(target: Target, raw: CFunction): (...values: readonly Value[]) => Promise<Value> {
  const { name, self, converters, isWide } = target
  return (...values) => {
    check(target, values.length)
    const operands = new Set<Gated>([self])
    const converted = converters.map((convert, i) => {
      operands.add(operandOf(values[i], self))
      return convert(values[i], i, name)
    })
    const holds = holdAll(operands)
    return new Promise((resolve, reject) => {
      const settle = (error: unknown, value: Value): void => {
        releaseAll(holds)
        operands.clear()
        if (error === null) resolve(isWide ? BigInt(value as number | bigint) : value)
        else reject(error as Error)
      }
      try {
        raw.async(...converted, settle)
      } catch (error) {
        settle(new NativeError(`${name} could not be started on another thread`, { cause: error }), undefined)
      }
    })
  }
}

const forms: readonly ((target: Target) => Form)[] = [ofNone, ofOne, ofTwo, ofThree, ofFour]

function ofNone(target: Target): Form {
  const { raw, self, isWide } = target
  const operands = Object.freeze([self])
  return function () {
    check(target, arguments.length)
    enterCall(operands)
    try {
      const result = raw()
      return isWide ? BigInt(result as number | bigint) : result
    } finally {
      leaveCall()
    }
  }
}

function ofOne(target: Target): Form {
  const { name, raw, self, isPlain, isWide } = target
  const own = Object.freeze([self])
  const [convert] = target.converters as [Converter]
  return function (value) {
    check(target, arguments.length)
    const operands = isPlain ? own : [self, operandOf(value, self)]
    const a = convert(value, 0, name)
    enterCall(operands)
    try {
      const result = raw(a)
      return isWide ? BigInt(result as number | bigint) : result
    } finally {
      leaveCall()
    }
  }
}

function ofTwo(target: Target): Form {
  const { name, raw, self, isPlain, isWide } = target
  const own = Object.freeze([self])
  const [convert0, convert1] = target.converters as [Converter, Converter]
  return function (value0, value1) {
    check(target, arguments.length)
    const operands = isPlain ? own : [self, operandOf(value0, self), operandOf(value1, self)]
    const a = convert0(value0, 0, name)
    const b = convert1(value1, 1, name)
    enterCall(operands)
    try {
      const result = raw(a, b)
      return isWide ? BigInt(result as number | bigint) : result
    } finally {
      leaveCall()
    }
  }
}

function ofThree(target: Target): Form {
  const { name, raw, self, isPlain, isWide } = target
  const own = Object.freeze([self])
  const [convert0, convert1, convert2] = target.converters as [Converter, Converter, Converter]
  return function (value0, value1, value2) {
    check(target, arguments.length)
    const operands = isPlain ? own : [self, operandOf(value0, self), operandOf(value1, self), operandOf(value2, self)]
    const a = convert0(value0, 0, name)
    const b = convert1(value1, 1, name)
    const c = convert2(value2, 2, name)
    enterCall(operands)
    try {
      const result = raw(a, b, c)
      return isWide ? BigInt(result as number | bigint) : result
    } finally {
      leaveCall()
    }
  }
}

function ofFour(target: Target): Form {
  const { name, raw, self, isPlain, isWide } = target
  const own = Object.freeze([self])
  const [convert0, convert1, convert2, convert3] = target.converters as [Converter, Converter, Converter, Converter]
  return function (value0, value1, value2, value3) {
    check(target, arguments.length)
    const operands = isPlain
      ? own
      : [self, operandOf(value0, self), operandOf(value1, self), operandOf(value2, self), operandOf(value3, self)]
    const a = convert0(value0, 0, name)
    const b = convert1(value1, 1, name)
    const c = convert2(value2, 2, name)
    const d = convert3(value3, 3, name)
    enterCall(operands)
    try {
      const result = raw(a, b, c, d)
      return isWide ? BigInt(result as number | bigint) : result
    } finally {
      leaveCall()
    }
  }
}

function ofMany(target: Target): Form {
  const { name, raw, self, converters, isWide } = target
  return (...values) => {
    check(target, values.length)
    const operands = [self]
    const converted: CValue[] = []
    for (let i = 0; i < converters.length; i++) {
      operands.push(operandOf(values[i], self))
      converted.push(converters[i]!(values[i], i, name))
    }
    enterCall(operands)
    try {
      const result = raw(...converted)
      return isWide ? BigInt(result as number | bigint) : result
    } finally {
      leaveCall()
    }
  }
}

/** Before a call: as many arguments as parameters, and code that is alive. */
function check({ name, gate, converters }: Target, count: number): void {
  if (count !== converters.length) {
    throw new ArgumentError(`${name} takes ${converters.length} arguments, got ${count}`)
  }
  if (!gate.open) gate.owner.checkOpen()
}

/** What keeps an argument's memory open during the call: its block, which must be alive. */
function operandOf(value: Value, self: Gated): Gated {
  if (!(value instanceof Segment)) return self
  const { block } = value
  checkEnterable(block)
  return block
}
