import { wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { ArgumentError, NativeError } from '../errors/kinds.ts'
import { checkEnterable } from '../memory/block.ts'
import { enterCall, leaveCall } from '../memory/call-stack.ts'
import { holdAll, releaseAll, type Gate, type Gated } from '../memory/lifetime.ts'
import { Segment } from '../memory/segment.ts'
import { checkVariadic, converterOf, cTypeOf, type Converter, type CValue, type Value } from './argument-conversion.ts'
import { type CFunction, functionAt, MAXIMUM_PARAMETERS, variadicFunctionAt } from './driver.ts'
import { StructType } from './struct-type.ts'
import type { ValueType } from './value-type.ts'

/** The C signature of a function. */
export interface Signature {
  /** The default is `void`. A pointer is returned as an address (a bigint), and a struct as an object with its members. */
  readonly result?: ValueType | StructType | 'void'
  readonly parameters?: readonly (ValueType | StructType)[]
  /** For a variadic function, the number of parameters before the `...`. `parameters` contains all that are passed. */
  readonly fixedParameters?: number
}

/** A native function that checks its arguments, and keeps their memory and the library open while it runs. */
export interface NativeFunction<Result> {
  (...values: readonly Value[]): Result
  /**
   * Runs the function on another thread. The arguments' memory and the library are held open until it has returned.
   *
   * @throws synchronously as a normal call if an argument is not valid, and {ScopeClosedError} once closing of its memory
   * has begun. The promise rejects with a `NativeError` if thousands of calls are already running.
   */
  readonly async: (...values: readonly Value[]) => Promise<Result>
}

type Form = (...values: readonly Value[]) => Value

interface Target {
  readonly name: string
  readonly gate: Gate
  /** The library, as an operand. Also the placeholder for arguments that are not memory. */
  readonly self: Gated
  readonly raw: (...values: CValue[]) => Value
  readonly converters: readonly Converter[]
  /** Whether no parameter is memory, so that every call has the same operands. */
  readonly isPlain: boolean
  /** Whether the result is a bigint. The driver returns small 64-bit results as numbers. */
  readonly isWide: boolean
}

/**
 * Makes a native function from an address. Each number of parameters up to four has a separate implementation, because
 * rest arrays and loops cost more than the call.
 *
 * @param gate the gate of the code's owner, which stays open while the function runs.
 * @param name the name of the function in messages.
 * @throws {ArgumentError} if the signature is not valid, or contains an unknown type.
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

/** Copies the parameters, so that the checked types are the declared types. @throws {ArgumentError} */
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

function check({ name, gate, converters }: Target, count: number): void {
  if (count !== converters.length) {
    throw new ArgumentError(`${name} takes ${converters.length} arguments, got ${count}`)
  }
  if (!gate.open) gate.owner.checkOpen()
}

/** Returns the operand that keeps an argument's memory open during the call: the block, or `self` if it is not memory. */
function operandOf(value: Value, self: Gated): Gated {
  if (!(value instanceof Segment)) return self
  const { block } = value
  checkEnterable(block)
  return block
}
