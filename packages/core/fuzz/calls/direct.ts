import type { Abi, CallPlan, PlanSignature } from '../../src/native/call/call-plan.ts'
import { WORDS } from '../../src/native/call/frame-layout.ts'
import { bytes as frameBytes, words } from '../../src/native/call/frame.ts'
import { planCall } from '../../src/native/call/plan.ts'
import { slotOf, store } from '../../src/native/call/store.ts'
import type { DirectProgram } from './direct-program.ts'
import { describeSignature, type Failure } from './failure.ts'
import {
  planSignatureOf,
  readArgument,
  readResult,
  RESULTS_OFFSET,
  RESULTS_SIZE,
  STACK_OFFSET,
  writeResult,
} from './frame-image.ts'
import { Random } from './random.ts'
import { type RecordReader, RecordWriter } from './records.ts'
import { canCallBack } from './signatures.ts'
import type { Signature } from './types.ts'
import { compare, compareAll, packedBytes, randomArgument, randomValue, resolvedOf, splitLog } from './values.ts'

export interface DirectOptions {
  readonly seed: number
  /** How often each signature is called, and calls back, with other values. */
  readonly rounds: number
  /** Makes the plans. A wrong plan shows that the comparison finds mistakes. */
  readonly plan?: (abi: Abi, signature: PlanSignature) => CallPlan
}

/** Compares what one call or upcall has written. Returns the mistakes. */
type Check = (output: RecordReader) => string[]

const NOWHERE = 2 ** 32 - 1

/**
 * Calls compiled functions, and lets them call back, through the assembly of a calling convention in a program of its own.
 * TypeScript fills the frames and compares, so the program can be one for another processor or system.
 */
export async function fuzzDirectly(program: DirectProgram, options: DirectOptions): Promise<Failure[]> {
  const { signatures } = program
  const { abi, compiler } = program.core
  const { seed, rounds, plan = planCall } = options
  const records = new RecordWriter()
  const checks: { index: number; signature: Signature; direction: Failure['direction']; check: Check }[] = []
  let position = 0
  for (const [index, signature] of signatures) {
    const planned = plan(abi, planSignatureOf(signature))
    const random = new Random(seed ^ 0x5eed, index)
    for (let round = 0; round < rounds; round++) {
      const call = addCall(records, position, signature, planned, random)
      checks.push({ index, signature, direction: 'call', check: call })
      if (!canCallBack(abi, signature)) continue
      const upcall = addUpcall(records, position, signature, planned, random)
      checks.push({ index, signature, direction: 'upcall', check: upcall })
    }
    position++
  }
  const { reader, ending } = await program.run(checks.length, records)
  const failures: Failure[] = []
  for (const { index, signature, direction, check } of checks) {
    const base = { index, direction, compiler, abi, signature: describeSignature(signature) }
    try {
      const mistakes = check(reader)
      if (mistakes.length > 0) failures.push({ ...base, mistakes })
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      // The other records did not run.
      failures.push({ ...base, mistakes: [`the program ended: ${ending ?? 'its output is too short'}`] })
      break
    }
  }
  return failures
}

function addCall(records: RecordWriter, position: number, signature: Signature, plan: CallPlan, random: Random): Check {
  const { parameters, result } = signature
  const values = parameters.map((type) => randomArgument(type, random))
  const returned = result === 'void' ? undefined : randomValue(result, random)
  const stackEnd = STACK_OFFSET + plan.stackSize
  // What the plan does not write has any value.
  frameBytes.set(random.bytes(stackEnd))
  words[WORDS.flags] = plan.flags
  words[WORDS.stackSize] = plan.stackSize
  words[WORDS.extra] = plan.vectorCount
  words[WORDS.extra + 1] = 0
  plan.parameters.forEach((parameter, i) =>
    store(slotOf(parameter, plan, `argument ${i + 1}`), resolvedOf(parameters[i]!, values[i]!)),
  )
  const isInMemory = plan.result.kind === 'memory'
  records.numbers(0, position, isInMemory ? plan.result.word : NOWHERE, isInMemory ? plan.result.byteSize : 0)
  records.block(result === 'void' ? new Uint8Array() : packedBytes(result, returned!))
  records.block(frameBytes.slice(0, stackEnd))
  records.block(frameBytes.slice(WORDS.copyCount * 4, plan.copyCount === 0 ? WORDS.copyCount * 4 : undefined))
  return (output) => {
    const mistakes = compareAll(parameters, values, splitLog(output.block(), parameters))
    const results = output.block()
    const resultMemory = output.block()
    if (result === 'void') return mistakes
    frameBytes.set(results, RESULTS_OFFSET)
    const actual = isInMemory ? resultMemory : readResult(frameBytes, plan, result)
    return [...mistakes, ...compare('the result', packedBytes(result, returned!), packedBytes(result, actual))]
  }
}

function addUpcall(
  records: RecordWriter,
  position: number,
  signature: Signature,
  plan: CallPlan,
  random: Random,
): Check {
  const { parameters, result } = signature
  const values = parameters.map((type) => randomValue(type, random))
  const returned = result === 'void' ? new Uint8Array() : randomValue(result, random)
  const isInMemory = plan.result.kind === 'memory'
  const image = new Uint8Array(STACK_OFFSET)
  if (result !== 'void') writeResult(image, plan, result, returned)
  records.numbers(1, position, plan.stackSize, isInMemory ? plan.result.byteSize : 0)
  records.block(Buffer.concat(parameters.map((type, i) => packedBytes(type, values[i]!))))
  records.block(image.subarray(RESULTS_OFFSET, RESULTS_OFFSET + RESULTS_SIZE))
  records.block(isInMemory ? returned : new Uint8Array())
  const indirect = plan.parameters.filter(({ kind }) => kind === 'indirect')
  records.numbers(indirect.length)
  for (const { word, byteSize } of indirect) records.numbers(word, byteSize)
  return (output) => {
    const received = output.block()
    const mistakes = plan.parameters.flatMap((parameter, i) => {
      const type = parameters[i]!
      const pointed = parameter.kind === 'indirect' ? output.block() : undefined
      const value = packedBytes(type, readArgument(received, parameter, type, pointed))
      return compare(`argument ${i + 1}`, packedBytes(type, values[i]!), value)
    })
    const [given, refused] = [output.block(), output.block()]
    if (result === 'void') return mistakes
    const expected = packedBytes(result, returned)
    const refusal = compare('the result of a dead stub', new Uint8Array(expected.length), refused)
    return [...mistakes, ...compare('the result', expected, given), ...refusal]
  }
}
