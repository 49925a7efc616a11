import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { gcAllocator } from '../../src/memory/allocators.ts'
import { Segment } from '../../src/memory/segment.ts'
import type { Value } from '../../src/native/argument-conversion.ts'
import { makeStub } from '../../src/native/call/stubs.ts'
import type { StubArgument } from '../../src/native/call/stub-steps.ts'
import type { NativeFunction } from '../../src/native/function-types.ts'
import { NativeLibrary } from '../../src/native/native-library.ts'
import { StructType } from '../../src/native/struct-type.ts'
import { cSource } from './c-source.ts'
import { describeSignature, type Failure } from './failure.ts'
import { planTypeOf } from './frame-image.ts'
import { Random } from './random.ts'
import { canCallBack } from './signatures.ts'
import { buildLibrary, type CompilerName, hostAbi } from './toolchains.ts'
import { type CType, isStruct, type Signature } from './types.ts'
import { bytesOfScalar, compare, compareAll, packedBytes, randomArgument, resolvedOf, splitLog } from './values.ts'

export interface ProductOptions {
  readonly compiler: CompilerName
  readonly seed: number
  readonly rounds: number
}

/** The memory that generated functions write to, and read from. */
interface Exchange {
  readonly log: Segment
  readonly input: Segment
  /** Lets the functions start at the beginning. */
  readonly attach: (log: Segment, input: Segment) => void
}

const exchangeSource = `
unsigned char *fuzz_log;
const unsigned char *fuzz_input;
EXPORT void fuzz_attach(unsigned char *log, const unsigned char *input) { fuzz_log = log; fuzz_input = input; }
`

const EXCHANGE_SIZE = 1 << 16

/** Calls compiled functions, and lets them call back, in this process and through the functions that users call. */
export async function fuzzProduct(
  signatures: ReadonlyMap<number, Signature>,
  { compiler, seed, rounds }: ProductOptions,
): Promise<Failure[]> {
  const library = await openLibrary(cSource(signatures) + exchangeSource, compiler)
  const exchange = {
    log: gcAllocator.allocate(EXCHANGE_SIZE),
    input: gcAllocator.allocate(EXCHANGE_SIZE),
    attach: library.function('fuzz_attach', { parameters: ['pointer', 'pointer'] }),
  }
  const failures: Failure[] = []
  for (const [index, signature] of signatures) {
    const random = new Random(seed ^ 0xca11, index)
    const call = library.function(`call_${index}`, coreSignatureOf(signature)) as NativeFunction
    const caller = library.function(`upcall_${index}`, { parameters: ['uint64'] }) as unknown as NativeFunction
    const base = { index, compiler, abi: hostAbi!, signature: describeSignature(signature) }
    for (let round = 0; round < rounds; round++) {
      const mistakes = await callOnce(call, signature, exchange, random, round === rounds - 1)
      if (mistakes.length > 0) failures.push({ ...base, direction: 'call', mistakes })
      if (!canCallBack(hostAbi!, signature)) continue
      const upcallMistakes = callBackOnce(caller, signature, exchange, random, round % 2 === 0)
      if (upcallMistakes.length > 0) failures.push({ ...base, direction: 'upcall', mistakes: upcallMistakes })
    }
  }
  library.close()
  return failures
}

async function openLibrary(source: string, compiler: CompilerName): Promise<NativeLibrary> {
  const directory = await mkdtemp(join(tmpdir(), 'tenon-calls-'))
  try {
    const path = join(directory, 'functions.c')
    await writeFile(path, source)
    await buildLibrary(compiler, path, join(directory, 'functions.so'))
    return NativeLibrary.open(join(directory, 'functions.so'))
  } finally {
    // Windows keeps the file of a loaded library.
    if (process.platform !== 'win32') await rm(directory, { recursive: true, force: true })
  }
}

const structTypes = new WeakMap<object, StructType>()

function coreTypeOf(type: CType): Exclude<CType, object> | StructType {
  if (!isStruct(type)) return type
  let made = structTypes.get(type)
  if (made === undefined) structTypes.set(type, (made = new StructType(planTypeOf(type))))
  return made
}

const coreSignatureOf = ({ result, parameters, fixedParameters }: Signature) => ({
  result: result === 'void' ? result : coreTypeOf(result),
  parameters: parameters.map(coreTypeOf),
  ...(fixedParameters === undefined ? {} : { fixedParameters }),
})

/** A value as users pass it: structs and pointers are segments. */
function valueOf(type: CType, bytes: Uint8Array): Value {
  if (!isStruct(type)) return resolvedOf(type, bytes) as Value
  const segment = gcAllocator.allocate(type.size, type.alignment)
  write(segment, bytes)
  return segment
}

/** An argument and its bytes. A pointer is the address of memory of this process. */
function randomPassed(type: CType, random: Random): { value: Value; bytes: Uint8Array } {
  if (type === 'pointer') {
    const segment = random.chance(0.1) ? null : gcAllocator.allocate(1 + random.below(32))
    const address = segment === null ? 0 : segment.block.address + segment.base
    return { value: segment, bytes: bytesOfScalar('pointer', address) }
  }
  const bytes = randomArgument(type, random)
  return { value: valueOf(type, bytes), bytes }
}

function write(segment: Segment, bytes: Uint8Array): void {
  const view = segment.view()
  bytes.forEach((byte, i) => view.setUint8(i, byte))
}

function read(segment: Segment, size: number): Uint8Array {
  const view = segment.view()
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice(0, size)
}

const packedSize = (types: readonly CType[]): number =>
  types.reduce((size, type) => size + packedBytes(type, new Uint8Array(isStruct(type) ? type.size : 8)).length, 0)

async function callOnce(
  call: NativeFunction,
  { parameters, result }: Signature,
  { log, input, attach }: Exchange,
  random: Random,
  isAsync: boolean,
): Promise<string[]> {
  const passed = parameters.map((type) => randomPassed(type, random))
  const returned = result === 'void' ? undefined : randomArgument(result, random)
  if (result !== 'void') write(input, packedBytes(result, returned!))
  attach(log, input)
  const target = isStruct(result) ? [gcAllocator.allocate(result.size, result.alignment)] : []
  const values = [...target, ...passed.map(({ value }) => value)]
  const value = isAsync ? await call.async(...values) : call(...values)
  const received = splitLog(read(log, packedSize(parameters)), parameters)
  const mistakes = compareAll(
    parameters,
    passed.map(({ bytes }) => bytes),
    received,
  )
  if (result === 'void') return mistakes
  const scalar = value instanceof Segment ? value.address : (value as number | bigint)
  const actual = isStruct(result) ? read(target[0]!, result.size) : bytesOfScalar(result, scalar)
  return [...mistakes, ...compare('the result', packedBytes(result, returned!), packedBytes(result, actual))]
}

function callBackOnce(
  caller: NativeFunction,
  signature: Signature,
  { log, input, attach }: Exchange,
  random: Random,
  unsafeReuse: boolean,
): string[] {
  const { parameters, result } = signature
  const values = parameters.map((type) => randomArgument(type, random))
  const returned = result === 'void' ? undefined : randomPassed(result, random)
  write(input, Buffer.concat(parameters.map((type, i) => packedBytes(type, values[i]!))))
  const mistakes: string[] = ['the stub did not run its function']
  const run = (...received: (StubArgument | Uint8Array)[]): Value => {
    mistakes.length = 0
    const bytes = parameters.map((type, i) => packedBytes(type, bytesReceived(type, received[i])))
    mistakes.push(...compareAll(parameters, values, bytes))
    return returned?.value
  }
  const stub = makeStub(coreSignatureOf(signature), run, { unsafeReuse }, 'the result')
  try {
    attach(log, input)
    caller(stub.address)
  } finally {
    stub.close()
  }
  if (result === 'void') return mistakes
  const expected = packedBytes(result, returned!.bytes)
  return [...mistakes, ...compare('the result', expected, read(log, expected.length))]
}

const bytesReceived = (type: CType, value: StubArgument | Uint8Array): Uint8Array =>
  isStruct(type) ? (value as Uint8Array) : bytesOfScalar(type, value as number | bigint | boolean)
