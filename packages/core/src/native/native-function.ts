import { ArgumentError } from '../errors/kinds.ts'
import { callStack, NO_OPERANDS, type Gate, type Gated } from '../memory/gate.ts'
import { Segment } from '../memory/segment.ts'
import { converterOf, cTypeOf, type Converter, type CValue, type Value, type ValueType } from './argument-conversion.ts'
import { functionAt } from './driver.ts'

/** The C signature of a function. */
export interface Signature {
  /** `void` without it. A pointer comes back as an address: a bigint. */
  readonly result?: ValueType | 'void'
  readonly parameters?: readonly ValueType[]
}

/** A native function that checks its arguments and keeps their memory and its library open while it runs. */
export type NativeFunction<Result> = (...values: readonly Value[]) => Result

/** A function at an address, and what a call of it needs. */
interface Target {
  readonly name: string
  readonly gate: Gate
  /** What the code belongs to, as an operand: it stands for arguments that are no memory as well. */
  readonly self: Gated
  readonly raw: (...values: CValue[]) => Value
  readonly converters: readonly Converter[]
}

/**
 * Makes a native function out of an address. Each number of parameters up to four has a form of its own: rest arrays
 * and loops cost more than the call.
 *
 * @param gate of what the code belongs to: held while the function runs.
 * @param name for messages.
 * @throws {ArgumentError} if the signature names an unknown type.
 */
export function bindFunction(gate: Gate, name: string, address: number, signature: Signature): NativeFunction<Value> {
  const { parameters = [], result = 'void' } = signature
  const raw = functionAt(address, result === 'void' ? 'void' : cTypeOf(result), parameters.map(cTypeOf)) as (
    ...values: CValue[]
  ) => Value
  const target: Target = { name, gate, self: { gate }, raw, converters: parameters.map(converterOf) }
  const call = (forms[parameters.length] ?? ofMany)(target)
  if (result !== 'int64' && result !== 'uint64' && result !== 'pointer') return call
  return (...values) => BigInt(call(...values) as number | bigint)
}

const forms: readonly ((target: Target) => NativeFunction<Value>)[] = [ofNone, ofOne, ofTwo, ofThree, ofFour]

function ofNone(target: Target): NativeFunction<Value> {
  const { raw, self } = target
  const operands = Object.freeze([self])
  return function () {
    check(target, arguments.length)
    callStack.frames[callStack.depth++] = operands
    try {
      return raw()
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
  }
}

function ofOne(target: Target): NativeFunction<Value> {
  const { name, raw, self } = target
  const [convert] = target.converters as [Converter]
  return function (value) {
    check(target, arguments.length)
    const operands = [self, operandOf(value, self)]
    const a = convert(value, 0, name)
    callStack.frames[callStack.depth++] = operands
    try {
      return raw(a)
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
  }
}

function ofTwo(target: Target): NativeFunction<Value> {
  const { name, raw, self } = target
  const [convert0, convert1] = target.converters as [Converter, Converter]
  return function (value0, value1) {
    check(target, arguments.length)
    const operands = [self, operandOf(value0, self), operandOf(value1, self)]
    const a = convert0(value0, 0, name)
    const b = convert1(value1, 1, name)
    callStack.frames[callStack.depth++] = operands
    try {
      return raw(a, b)
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
  }
}

function ofThree(target: Target): NativeFunction<Value> {
  const { name, raw, self } = target
  const [convert0, convert1, convert2] = target.converters as [Converter, Converter, Converter]
  return function (value0, value1, value2) {
    check(target, arguments.length)
    const operands = [self, operandOf(value0, self), operandOf(value1, self), operandOf(value2, self)]
    const a = convert0(value0, 0, name)
    const b = convert1(value1, 1, name)
    const c = convert2(value2, 2, name)
    callStack.frames[callStack.depth++] = operands
    try {
      return raw(a, b, c)
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
  }
}

function ofFour(target: Target): NativeFunction<Value> {
  const { name, raw, self } = target
  const [convert0, convert1, convert2, convert3] = target.converters as [Converter, Converter, Converter, Converter]
  return function (value0, value1, value2, value3) {
    check(target, arguments.length)
    const operands = [
      self,
      operandOf(value0, self),
      operandOf(value1, self),
      operandOf(value2, self),
      operandOf(value3, self),
    ]
    const a = convert0(value0, 0, name)
    const b = convert1(value1, 1, name)
    const c = convert2(value2, 2, name)
    const d = convert3(value3, 3, name)
    callStack.frames[callStack.depth++] = operands
    try {
      return raw(a, b, c, d)
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
  }
}

function ofMany(target: Target): NativeFunction<Value> {
  const { name, raw, self, converters } = target
  return (...values) => {
    check(target, values.length)
    const operands = [self]
    const converted: CValue[] = []
    for (let i = 0; i < converters.length; i++) {
      operands.push(operandOf(values[i], self))
      converted.push(converters[i]!(values[i], i, name))
    }
    callStack.frames[callStack.depth++] = operands
    try {
      return raw(...converted)
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
  }
}

/** Before a call: as many arguments as parameters, and code that is alive. */
function check({ name, gate, converters }: Target, count: number): void {
  if (count !== converters.length) {
    throw new ArgumentError(`${name} takes ${converters.length} arguments, got ${count}`)
  }
  if (!gate.alive) gate.owner.checkAlive()
}

/** What keeps an argument's memory open during the call: its block, which must be alive. */
function operandOf(value: Value, self: Gated): Gated {
  if (!(value instanceof Segment)) return self
  const { block } = value
  if (!block.gate.alive) block.gate.owner.checkAlive()
  return block
}
