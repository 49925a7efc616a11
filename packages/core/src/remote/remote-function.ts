import { wrongType } from '../errors/check-arguments.ts'
import { inspectAsText } from '../errors/inspect.ts'
import { ArgumentError, NativeError } from '../errors/kinds.ts'
import { CONSTANTS, LAYOUTS } from '../generated/layouts.ts'
import { gcAllocator } from '../memory/allocators.ts'
import { checkEnterable, type Block } from '../memory/block.ts'
import { globalGate } from '../memory/global-lifetime.ts'
import {
  pointerBlock,
  remoteBlock,
  remotePlaceOf,
  remotePointerIn,
  type RemotePlace,
  type RemoteWorker,
} from '../memory/pointer-address.ts'
import { DEVICE_MEMORY, READ_ONLY, Segment } from '../memory/segment.ts'
import { setArgumentCheck } from '../native/argument-checks.ts'
import { checkVariadic, type Value } from '../native/argument-conversion.ts'
import { argumentName } from '../native/native-function.ts'
import { memoryOf } from '../native/memory-of.ts'
import type { CallPlan } from '../native/call/call-plan.ts'
import type { ValueWithErrno } from '../native/call/call-steps.ts'
import { WORDS } from '../native/call/frame-layout.ts'
import { bytes, unsignedBigints } from '../native/call/frame.ts'
import { typesOf } from '../native/call/general-form.ts'
import { hostAbi } from '../native/call/host-abi.ts'
import { load } from '../native/call/load.ts'
import { planCall } from '../native/call/plan.ts'
import { bytesOfText } from '../native/call/texts.ts'
import {
  codeOperand,
  operandOf,
  type Resolved,
  resolveIn,
  slotOf,
  store,
  targetSlot,
  type Slot,
} from '../native/call/store.ts'
import { loadStruct, type StructSource } from '../native/call/struct-bytes.ts'
import type { NativeFunction } from '../native/function-types.ts'
import type { StructType } from '../native/struct-type.ts'
import type { ValueType } from '../native/value-type.ts'
import { cpu } from '../types/device.ts'
import { segmentOver } from '../types/tensor-from.ts'
import { tensorType } from '../types/tensor-type.ts'
import { Tensor } from '../types/tensor.ts'
import { AnswerReader } from './answer-reader.ts'
import { encodeCall, MAXIMUM_TEXT } from './encode-call.ts'
import type {
  IsolatedRunOptions,
  RemoteAnswer,
  RemoteCall,
  RemoteHost,
  RemoteKernel,
  RemoteOperand,
  RemotePart,
} from './remote-call.ts'

/** Addresses of this many bytes at both ends are values, such as `(void *)-1`, and mean the same in every process. */
const VALUE_ADDRESSES = 4096n

const RETURNED = LAYOUTS.tn_host_returned_t

/** A declaration of a C function whose types were checked. */
export interface RemoteSignature {
  readonly result: ValueType | StructType | 'void'
  readonly parameters: readonly (ValueType | StructType)[]
  readonly fixedParameters: number | undefined
}

/** How the function is called and what it returns besides its result. */
export interface RemoteFunctionOptions {
  /** Whether the function returns its result together with `errno`. */
  readonly captureErrno?: boolean
  /** The options of each call, which were read once. The host checks them. */
  readonly run?: IsolatedRunOptions
  /** The library that exports the function, if it is not that of the host. */
  readonly library?: string | undefined
  /** The names of parameters in messages, which have their position otherwise. */
  readonly names?: readonly string[] | undefined
  /** Makes the result of a function that returns a pointer. */
  readonly pointer?: (block: Block) => Segment
  /** Makes what a call returns. `pointerAt` makes a pointer of an address that the function has written to memory. */
  readonly finish?: (value: Value, errno: number, pointerAt: (address: bigint) => Segment) => Value | ValueWithErrno
}

interface Target {
  readonly name: string
  readonly host: RemoteHost
  readonly kernel: RemoteKernel
  readonly plan: CallPlan
  /** The segment for a returned struct comes first. */
  readonly slots: readonly Slot[]
  readonly capturesErrno: boolean
  readonly pointer: (block: Block) => Segment
  readonly finish: RemoteFunctionOptions['finish']
  readonly options: IsolatedRunOptions
}

/**
 * A C function whose calls run in another process. Scalars, structs and texts are copied. Segments and tensors that lie in the memory of the
 * host are not, and others are copied there and, unless they are read-only, back. A pointer that is returned is a segment that only functions of the host
 * take.
 *
 * @throws {ArgumentError} if the arguments cannot be placed, or a run option is not valid.
 */
export function bindRemoteFunction(
  host: RemoteHost,
  name: string,
  { result, parameters, fixedParameters }: RemoteSignature,
  { captureErrno = false, run = {}, library, names, pointer = pointerTo, finish }: RemoteFunctionOptions = {},
): NativeFunction<readonly Value[], Value | ValueWithErrno> {
  host.checkRunOptions(run)
  if (fixedParameters !== undefined) checkVariadic(parameters, fixedParameters)
  const plan = planCall(hostAbi(), { result, parameters, fixedParameters })
  const slots = plan.parameters.map((parameter, i) => slotOf(parameter, plan, argumentName(name, i, names)))
  const { kind } = plan.result
  if (kind === 'struct' || kind === 'memory') slots.unshift(targetSlot(plan, `the result of ${name}`))
  const kernel: RemoteKernel = {
    name,
    library: library ?? host.path,
    file: library === undefined ? host.file : undefined,
    convention: CONSTANTS.TN_HOST_FUNCTION,
    symbols: ['', '', '', name],
    operands: 0,
    results: 0,
    descriptor: new Uint8Array(0),
  }
  const target: Target = { name, host, kernel, plan, slots, capturesErrno: captureErrno, pointer, finish, options: run }
  const call = (...values: readonly Value[]): Value | ValueWithErrno => host.run(new FunctionCall(target, values))
  const made = Object.assign(call, {
    async: async (...values: readonly Value[]) => host.runAsync(new FunctionCall(target, values)),
  })
  setArgumentCheck(made, (values) => void new FunctionCall(target, values as readonly Value[]))
  Object.defineProperty(made, 'name', { value: name })
  Object.defineProperty(made, 'toString', { value: () => `IsolatedFunction ${name}`, configurable: true })
  inspectAsText({ prototype: made })
  return made
}

const pointerTo = (block: Block): Segment => new Segment(block, 0, 0, 0)

/** One call, whose arguments were read once and checked. */
class FunctionCall implements RemoteCall<Value | ValueWithErrno> {
  readonly kernel: RemoteKernel
  readonly operands: readonly RemoteOperand[]
  readonly body: Uint8Array
  readonly options: IsolatedRunOptions
  readonly worker: RemoteWorker | undefined
  readonly pointers: readonly Block[]
  readonly #target: Target
  readonly #values: readonly Value[]
  /** Where the struct goes that the function returns. */
  readonly #memory: Segment | undefined
  readonly #answer: AnswerReader<Buffer>

  constructor(target: Target, values: readonly Value[]) {
    const { name, host, slots, plan } = target
    const hidden = slots[0]?.kind === 'target' ? 1 : 0
    if (values.length !== slots.length)
      throw new ArgumentError(`${name} takes ${slots.length - hidden} arguments, got ${values.length - hidden}`)
    host.gate.owner.checkOpen()
    const reader = new ArgumentReader(target)
    const resolved = slots.map((slot, i) => reader.read(slot, values[i]!))
    // Code of the user has run, which may have closed memory.
    for (const { tensor } of reader.operands) checkEnterable(tensor!.block)
    for (const block of reader.remotes) checkEnterable(block)
    for (const { block } of reader.structs) checkEnterable(block)
    host.gate.owner.checkOpen()
    this.#target = target
    this.#answer = new AnswerReader(host.allocator, {
      decode: ({ buffer }) => ({ value: Buffer.from(buffer), parts: [] }),
      malformed: () => malformed(name),
      mostBytes: RETURNED.size + MAXIMUM_TEXT,
    })
    this.#memory = hidden === 1 ? (values[0] as unknown as Segment) : undefined
    this.kernel = target.kernel
    this.operands = reader.operands
    this.worker = reader.worker
    this.pointers = reader.remotes
    this.options = target.options
    this.#values = values
    this.body = encodeCall(plan, target.capturesErrno, reader.pointers, () => {
      for (const [i, slot] of slots.entries()) store(slot, resolved[i]!)
    })
  }

  types(): ReturnType<typeof typesOf> {
    return typesOf(this.#target.slots, this.#values)
  }

  parts(answer: RemoteAnswer): readonly RemotePart[] {
    return this.#answer.parts(answer)
  }

  read(answer: RemoteAnswer, worker: RemoteWorker): Value | ValueWithErrno {
    const { name, plan, capturesErrno, finish } = this.#target
    const pointerAt = (address: bigint): Segment => this.#pointer(worker, address)
    const body = this.#answer.read(answer)
    if (body.length < RETURNED.size) throw malformed(name)
    const errno = body.readInt32LE(RETURNED.offsets.error_number)
    bytes.set(body.subarray(0, RETURNED.offsets.error_number), WORDS.generalResults * 4)
    let value: Value
    if (plan.result.kind === 'text') value = textOf(body, name)
    else if (plan.result.kind === 'struct') writeStruct(plan, this.#memory!)
    else if (plan.result.kind === 'pointer') value = pointerAt(unsignedBigints[plan.result.word >> 1]!)
    else if (plan.result.kind !== 'memory') value = load(plan.result.kind, plan.result.word)
    if (finish !== undefined) return finish(value, errno, pointerAt)
    return capturesErrno ? { value, errno } : value
  }

  #pointer({ index, process }: RemoteWorker, address: bigint): Segment {
    const { pointer, host, kernel } = this.#target
    if (isValue(address))
      return pointer(pointerBlock(globalGate, address < VALUE_ADDRESSES ? Number(address) : address))
    return pointer(remoteBlock(globalGate, new Place(host, kernel.library, { index, process }, address)))
  }

  failure({ error, body }: RemoteAnswer): Error | undefined {
    if (error !== CONSTANTS.TN_HOST_EXCEPTION) return undefined
    return new NativeError(`${this.#target.name} threw a C++ exception: ${Buffer.from(body).toString()}`)
  }
}

type RemoteFunction = ReturnType<typeof bindRemoteFunction>

/** Functions of the C library, which every library needs. */
interface Readers {
  readonly copy: RemoteFunction
  readonly find: RemoteFunction
}

const knownReaders = new WeakMap<RemoteHost, Map<string, Readers>>()

function readersOf(host: RemoteHost, library: string): Readers {
  let known = knownReaders.get(host)
  if (known === undefined) knownReaders.set(host, (known = new Map()))
  let readers = known.get(library)
  if (readers === undefined) {
    const bind = (name: string, result: 'void' | 'text', parameters: readonly ValueType[]): RemoteFunction =>
      bindRemoteFunction(host, name, { result, parameters, fixedParameters: undefined }, { library })
    readers = {
      copy: bind('memcpy', 'void', ['pointer', 'pointer', 'uint64']),
      find: bind('strchr', 'text', ['pointer', 'int32']),
    }
    known.set(library, readers)
  }
  return readers
}

/** A place in the memory of the process that has run a call. */
class Place implements RemotePlace {
  readonly worker: RemoteWorker
  readonly address: bigint
  readonly #host: RemoteHost
  readonly #library: string

  constructor(host: RemoteHost, library: string, worker: RemoteWorker, address: bigint) {
    this.#host = host
    this.#library = library
    this.worker = worker
    this.address = address
  }

  isLost(): boolean {
    return !this.#host.hasWorker(this.worker)
  }

  read(byteSize: number): Buffer {
    const copy = gcAllocator.allocate(byteSize)
    this.#readers.copy(copy, this.#pointer, byteSize)
    // A copy, because the process can write to the memory as long as it runs.
    return Buffer.from(copy.block.bytes.subarray(copy.base, copy.base + byteSize))
  }

  text(): string {
    const [first] = this.read(1)
    // The text from its first byte on is all of it.
    return first === 0 ? '' : (this.#readers.find(this.#pointer, first) as string)
  }

  get #readers(): Readers {
    return readersOf(this.#host, this.#library)
  }

  get #pointer(): Segment {
    return pointerTo(remoteBlock(globalGate, this))
  }
}

/** Reads the arguments of one call. */
class ArgumentReader {
  readonly operands: RemoteOperand[] = []
  /** The words of the frame whose value is the address of an operand. */
  readonly pointers: { readonly word: number; readonly operand: number }[] = []
  /** Pointers of the process that must run the call. */
  readonly remotes: Block[] = []
  /** The places of structs, whose bytes become part of the request. */
  readonly structs: StructSource[] = []
  worker: RemoteWorker | undefined
  readonly #code: ReturnType<typeof codeOperand>

  constructor(target: Target) {
    this.#code = codeOperand(target.host.gate)
  }

  read(slot: Slot, given: Value): Resolved {
    const value = memoryOf(given) as Value
    const isText = slot.kind === 'text'
    if ((isText || slot.kind === 'pointer') && ArrayBuffer.isView(value)) {
      const segment = segmentOver(value)
      return segment.byteSize === 0 ? 0 : this.#add(slot, tensorOver(segment), true)
    }
    const block = value instanceof Segment ? value.block : undefined
    const place = block && remotePlaceOf(block)
    if (place !== undefined && (isText || slot.kind === 'pointer')) return this.#remote(slot, block!, place)
    const resolved = resolveIn(operandOf(value, this.#code), slot, value)
    if (slot.kind === 'struct') this.structs.push(resolved as StructSource)
    if (value === null || (!isText && slot.kind !== 'pointer' && slot.kind !== 'target')) return resolved
    if (typeof value === 'string') return this.#add(slot, tensorOver(segmentOver(bytesOfText(value, slot.name))), false)
    const tensor = Tensor.isGenuine(value as object) ? (value as Tensor) : undefined
    const { flags } = (tensor ?? value) as Segment
    if ((flags & DEVICE_MEMORY) !== 0) throw new ArgumentError(`${slot.name} must be in host memory, got device memory`)
    if (tensor !== undefined) return this.#add(slot, tensor, (flags & READ_ONLY) === 0)
    const segment = value as Segment
    const inner = remotePointerIn(segment)
    // The process of the pointer in the memory must run the call.
    if (inner !== undefined) this.#remote(slot, inner, remotePlaceOf(inner)!)
    if (segment.byteSize > 0) return this.#add(slot, tensorOver(segment), (flags & READ_ONLY) === 0)
    return valueAddress(slot.name, BigInt(resolved as number | bigint))
  }

  #remote({ name }: Slot, block: Block, { worker, address }: RemotePlace): bigint {
    this.remotes.push(block)
    this.worker ??= worker
    if (worker.process === this.worker.process) return address
    throw new ArgumentError(
      `${name} must be a pointer of the process of the other arguments (${this.worker.process}), got one of process ${worker.process}`,
      { hint: 'Make both in one worker: isolate the library with workers: 1, or call with the option affinity.' },
    )
  }

  #add({ kind, word }: Slot, tensor: Tensor, isWritten: boolean): number {
    if (kind !== 'target' || word !== -1) this.pointers.push({ word, operand: this.operands.length })
    this.operands.push({ tensor, type: tensor.type, isWritten })
    // The process stores the address.
    return 0
  }
}

const tensorOver = (segment: Segment): Tensor => new Tensor(segment, tensorType('u8', [segment.byteSize]), cpu)

const isValue = (address: bigint): boolean => address < VALUE_ADDRESSES || address >= 2n ** 64n - VALUE_ADDRESSES

function valueAddress(name: string, address: bigint): bigint {
  if (isValue(address)) return address
  throw wrongType(
    name,
    'memory whose size is known, or a pointer that a function of the isolated library has returned',
    `a pointer to 0x${address.toString(16)} of this process`,
    'The other process has memory of its own: pass a segment with a size, which is copied.',
  )
}

function textOf(body: Buffer, name: string): string | null {
  const length = body.readUInt32LE(RETURNED.offsets.text_length)
  if (length === CONSTANTS.TN_HOST_NO_TEXT) return null
  if (body.length !== RETURNED.size + length) throw malformed(name)
  return body.toString('utf8', RETURNED.size)
}

function writeStruct({ result }: CallPlan, { block, base }: Segment): void {
  loadStruct(result.pieces, result.byteSize, block, base)
}

const malformed = (name: string): NativeError =>
  new NativeError(`the process of ${name} answered with a malformed result`)
