import type { CallTrace, Tensor } from '@tenon/core'
import {
  copyBytes,
  sharedChunkOf,
  stringSegmentOf,
  type Gated,
  type RemoteAnswer,
  type RemoteCall,
  type RemoteOperand,
  type RemotePart,
  type RemoteKernel,
  type RemoteWorker,
} from '@tenon/core/internal'
import { SPAN_UNIT } from '@tenon/pools/internal'
import type { KeptPart, WorkerCall, WorkerDetails, WorkerOperand } from './host/worker-call.ts'
import { requestFailure, withWorker } from './request-failure.ts'
import type { StagingFrame, StagingFrames } from './staging-frames.ts'
import { stringFlags, StringResults } from './string-results.ts'

/** A tensor of the caller, and its copy in shared memory. */
interface Copy {
  readonly from: Tensor
  readonly to: Tensor
  readonly isWritten: boolean
}

type Range = Exclude<WorkerOperand, null>

const NO_COPIES: Copy[] = []

/** A call whose operands are in shared memory. Tensors that lie there are used as they are, and others are copied. */
export class StagedCall<T = void> implements WorkerCall<T> {
  readonly kernel: RemoteKernel
  readonly operands: readonly WorkerOperand[]
  readonly body: Uint8Array | undefined
  readonly gated: readonly Gated[]
  readonly deadline: WorkerCall['deadline']
  readonly signal: WorkerCall['signal']
  readonly priority: WorkerCall['priority']
  readonly affinity: WorkerCall['affinity']
  readonly worker: RemoteWorker | undefined
  readonly idempotent: WorkerCall['idempotent']
  readonly parts: ((answer: RemoteAnswer) => readonly KeptPart[]) | undefined
  readonly callBack: ((body: Uint8Array) => Uint8Array) | undefined
  readonly #call: RemoteCall<T>
  /** Undefined for most calls, whose results have no strings. */
  readonly #strings: StringResults | undefined
  /** The number of bytes that were copied. */
  readonly copiedBytes: number = 0
  readonly #frames: StagingFrames
  /** Empty for calls whose operands are in shared memory, which then share one array. */
  readonly #copies: Copy[] = NO_COPIES
  /** The memory of the copies, until the call is released. */
  #frame: StagingFrame | undefined

  /**
   * @param owner the library, which the call holds open. @param frames the memory to which operands are copied.
   * @throws {AllocationError} if there is not enough shared memory.
   */
  constructor(owner: Gated, frames: StagingFrames, call: RemoteCall<T>) {
    const { kernel, operands, body, options, callBack, pointers } = call
    this.#call = call
    this.#frames = frames
    this.kernel = kernel
    this.body = body
    this.deadline = options.deadline
    this.signal = options.signal
    this.priority = options.priority
    this.affinity = options.affinity
    this.worker = call.worker
    this.idempotent = options.idempotent
    const gated: Gated[] = pointers === undefined ? [owner] : [owner, ...pointers]
    const ranges: WorkerOperand[] = []
    let isMissing = false
    let hasStrings = false
    for (const operand of operands) {
      const range = operand === null ? null : sharedRange(operand)
      ranges.push(range)
      if (operand === null) continue
      if (operand.tensor !== undefined) gated.push(operand.tensor)
      if (range === null) isMissing = true
      if (operand.isWritten && operand.type.strings !== undefined) hasStrings = true
    }
    this.gated = gated
    this.#strings = hasStrings ? new StringResults(operands, frames.memory) : undefined
    this.parts = this.#strings === undefined && call.parts === undefined ? undefined : this.#partsOf(call)
    this.callBack = callBack && ((bytes) => this.#callBack(callBack, bytes))
    if (isMissing) {
      this.#copies = []
      try {
        const frame = frames.take(kernel)
        this.#frame = frame
        for (const group of groupsOf(operands, ranges)) this.copiedBytes += this.#place(frame, group, ranges)
        this.#copyIn()
      } catch (error) {
        this.#free()
        throw error
      }
    }
    this.operands = markAliases(ranges)
  }

  get types(): CallTrace['types'] {
    const { kernel, operands } = this.#call
    if (this.#call.types !== undefined) return this.#call.types()
    return operands.slice(0, kernel.operands).flatMap((operand) => (operand === null ? [] : [operand.type]))
  }

  /** An answer with strings has no other parts. */
  #partsOf(call: RemoteCall<T>): ((answer: RemoteAnswer) => readonly KeptPart[]) | undefined {
    const strings = this.#strings
    if (strings === undefined) return call.parts && ((answer) => call.parts!(answer).map(keptPart))
    return (answer) => (answer.hasStrings ? strings.parts(answer) : (call.parts?.(answer) ?? [])).map(keptPart)
  }

  /** Sets the ranges of tensors that share memory. @returns the number of bytes to copy */
  #place(frame: StagingFrame, { start, byteSize, members }: Group, ranges: WorkerOperand[]): number {
    const range = frame.rangeOf(members[0]!.index, byteSize)
    const { chunk } = range
    let copiedBytes = 0
    for (const { plan, index } of members) {
      const { tensor, type, isWritten } = plan
      const offset = tensor?.type === type ? tensor.address - start : 0
      ranges[index] = {
        chunk,
        offset: range.offset + offset,
        length: type.byteSize,
        isWritten,
        strings: flagsOf(plan),
      }
      if (tensor === undefined) continue
      this.#copies.push({ from: tensor, to: frame.copyOf(index, range, offset, type), isWritten })
      copiedBytes += type.byteSize
    }
    return copiedBytes
  }

  /** Copies the tensors to shared memory. */
  #copyIn(): void {
    for (const { from, to } of this.#copies) copyBytes(from, to)
  }

  /** Copies what the kernel has written to the tensors of the caller. */
  #copyBack(): void {
    for (const { from, to, isWritten } of this.#copies) if (isWritten) copyBytes(to, from)
  }

  /** Gives the copies back. Once, when no worker uses them any more. */
  #free(): void {
    const frame = this.#frame
    this.#frame = undefined
    if (frame !== undefined) this.#frames.give(frame)
  }

  /** Tensors that were copied are copied back for a function of this process, and again for the worker. */
  #callBack(callBack: (body: Uint8Array) => Uint8Array, body: Uint8Array): Uint8Array {
    this.#copyBack()
    try {
      return callBack(body)
    } finally {
      this.#copyIn()
    }
  }

  describeArguments(): readonly string[] {
    const { operands, kernel } = this.#call
    if (this.#call.types !== undefined) return this.#call.types().map((type) => `argument ${type}`)
    const texts = operands.map((operand, index) => {
      const role = index < kernel.operands || operand?.isWritten !== true ? 'operand' : 'result'
      return operand === null ? `${role} without memory` : `${role} ${operand.type}`
    })
    return [...texts, ...(kernel.attributes?.() ?? [])]
  }

  read(answer: RemoteAnswer, worker: RemoteWorker): T {
    this.#copyBack()
    return this.#call.read(this.#strings?.answerOf(answer) ?? answer, worker)
  }

  failure(answer: RemoteAnswer, details: WorkerDetails): Error {
    return withWorker(this.#call.failure(answer) ?? requestFailure(this.kernel, answer), details)
  }

  released(): void {
    this.#free()
    this.#call.ended?.()
  }
}

function sharedRange(operand: RemoteOperand): Range | null {
  const { tensor, type, isWritten } = operand
  const chunk = tensor?.type === type ? sharedChunkOf(tensor) : undefined
  if (chunk === undefined || (isWritten && !chunk.isWritable)) return null
  // The bytes of strings follow their table.
  const { byteSize } = (type.strings === undefined ? undefined : stringSegmentOf(tensor!)) ?? type
  return { chunk, offset: tensor!.address - chunk.address, length: byteSize, isWritten, strings: flagsOf(operand) }
}

/** Most operands have no strings. */
const flagsOf = (operand: RemoteOperand): number => (operand.type.strings === undefined ? 0 : stringFlags(operand))

/** @throws {TypeError} if the memory of the part is not shared, which is a defect. */
function keptPart({ target, body }: RemotePart): KeptPart {
  const chunk = sharedChunkOf(target)
  if (chunk === undefined) throw new TypeError('the memory of an isolated library is not shared')
  const offset = Number(target.address) - chunk.address
  return { target: { chunk, offset, length: target.byteSize, isWritten: true }, body }
}

interface Member {
  readonly plan: RemoteOperand
  readonly index: number
}

/** Tensors that share memory, whose copies share memory in the same way. */
interface Group {
  start: number
  byteSize: number
  readonly members: Member[]
}

/** Groups the tensors to copy: those that overlap, as an operand does that the kernel overwrites, are one block. */
function groupsOf(operands: readonly (RemoteOperand | null)[], ranges: readonly WorkerOperand[]): readonly Group[] {
  const members: Member[] = []
  for (const [index, plan] of operands.entries())
    if (plan !== null && ranges[index] === null) members.push({ plan, index })
  const groups: Group[] = []
  let last: Group | undefined
  for (const member of members.toSorted((a, b) => addressOf(a.plan) - addressOf(b.plan))) {
    const { tensor, type } = member.plan
    const address = addressOf(member.plan)
    // Scratch memory, and a copy in another layout, are blocks of their own.
    if (tensor?.type !== type) {
      groups.push({ start: address, byteSize: type.byteSize, members: [member] })
    } else if (last !== undefined && address < last.start + last.byteSize) {
      // The copies start at a multiple of this, so each has the alignment of its tensor.
      const before = last.start % SPAN_UNIT
      last.start -= before
      last.byteSize += before
      last.byteSize = Math.max(last.byteSize, address - last.start + type.byteSize)
      last.members.push(member)
    } else {
      last = { start: address, byteSize: type.byteSize, members: [member] }
      groups.push(last)
    }
  }
  return groups
}

const addressOf = ({ tensor }: RemoteOperand): number => tensor?.address ?? 0

/** Marks the operands that overlap a result as written, because the worker must map them alike. */
function markAliases(ranges: readonly WorkerOperand[]): readonly WorkerOperand[] {
  let marked: WorkerOperand[] | undefined
  for (const other of ranges) {
    if (other === null || !other.isWritten) continue
    for (let index = 0; index < ranges.length; index++) {
      const one = ranges[index]!
      if (one === null || one.isWritten || !overlap(one, other)) continue
      marked ??= [...ranges]
      marked[index] = { ...one, isWritten: true }
    }
  }
  return marked ?? ranges
}

function overlap(a: Range, b: Range): boolean {
  return a.chunk === b.chunk && a.offset < b.offset + b.length && b.offset < a.offset + a.length
}
