import { cpu, Segment, Tensor, type TensorType } from '@tenon/core'
import { Block, copyBytes, sharedChunkOf } from '@tenon/core/internal'
import type { SharedMemory } from '@tenon/pools'
import { SPAN_UNIT } from '@tenon/pools/internal'
import type { WorkerOperand } from '@tenon/isolate/internal'

/** An operand of a call, and how the worker needs it. */
export interface OperandPlan {
  /** Undefined for scratch memory of the call. */
  readonly tensor: Tensor | undefined
  /** The type in the worker. It differs from that of the tensor if the layout does. */
  readonly type: TensorType
  /** Whether the kernel writes to it. */
  readonly isWritten: boolean
}

/** A tensor of the caller, and its copy in shared memory. */
interface Copy {
  readonly from: Tensor
  readonly to: Tensor
  readonly isWritten: boolean
}

type Range = Exclude<WorkerOperand, null>
type MemoryRange = ReturnType<SharedMemory['take']>

const NO_COPIES: Copy[] = []
const NOTHING_TAKEN: MemoryRange[] = []

/** The operands of one call in shared memory. Tensors that lie there are used as they are, and others are copied. */
export class StagedOperands {
  readonly operands: readonly WorkerOperand[]
  /** The number of bytes that were copied. */
  readonly copiedBytes: number = 0
  readonly #memory: SharedMemory
  /** Empty for most calls, which then share one array. */
  readonly #copies: Copy[] = NO_COPIES
  readonly #taken: MemoryRange[] = NOTHING_TAKEN

  /**
   * @param plans one for each operand; null for one that has no memory.
   * @throws {AllocationError} if there is not enough shared memory.
   */
  constructor(memory: SharedMemory, plans: readonly (OperandPlan | null)[]) {
    this.#memory = memory
    const ranges: WorkerOperand[] = plans.map((plan) => plan && sharedRange(plan))
    if (plans.some((plan, index) => plan !== null && ranges[index] === null)) {
      this.#copies = []
      this.#taken = []
      try {
        for (const group of groupsOf(plans, ranges)) this.copiedBytes += this.#take(group, ranges)
      } catch (error) {
        this.free()
        throw error
      }
    }
    this.operands = markAliases(ranges)
    this.copyIn()
  }

  /** Takes memory for tensors that share memory. @returns the number of bytes to copy. */
  #take({ start, byteSize, members }: Group, ranges: WorkerOperand[]): number {
    const taken = this.#memory.take(byteSize)
    this.#taken.push(taken)
    const block = Block.ofPart(taken.gate, taken, 0, Math.max(byteSize, 1))
    let copiedBytes = 0
    for (const { plan, index } of members) {
      const { tensor, type, isWritten } = plan
      const offset = tensor?.type === type ? tensor.address - start : 0
      const { chunk } = taken
      ranges[index] = { chunk, offset: taken.offset + offset, length: type.byteSize, isWritten }
      if (tensor === undefined) continue
      const to = new Tensor(new Segment(block, offset, type.byteSize, 0), type, cpu)
      this.#copies.push({ from: tensor, to, isWritten })
      copiedBytes += type.byteSize
    }
    return copiedBytes
  }

  /** Copies the tensors to shared memory. */
  copyIn(): void {
    for (const { from, to } of this.#copies) copyBytes(from, to)
  }

  /** Copies what the kernel has written to the tensors of the caller. */
  copyBack(): void {
    for (const { from, to, isWritten } of this.#copies) if (isWritten) copyBytes(to, from)
  }

  /** Gives the copies back. Once, when no worker uses them any more. */
  free(): void {
    if (this.#taken.length > 0) for (const range of this.#taken.splice(0)) this.#memory.give(range)
  }
}

function sharedRange({ tensor, type, isWritten }: OperandPlan): Range | null {
  const chunk = tensor?.type === type ? sharedChunkOf(tensor) : undefined
  if (chunk === undefined || (isWritten && !chunk.isWritable)) return null
  return { chunk, offset: tensor!.address - chunk.address, length: type.byteSize, isWritten }
}

/** The range of a segment in the memory of an isolated library. */
export function rangeOf(segment: Segment, isWritten: boolean): Range {
  const chunk = sharedChunkOf(segment)
  if (chunk === undefined) throw new TypeError('the memory of an isolated library is not shared')
  return { chunk, offset: Number(segment.address) - chunk.address, length: segment.byteSize, isWritten }
}

interface Member {
  readonly plan: OperandPlan
  readonly index: number
}

/** Tensors that share memory, whose copies share memory in the same way. */
interface Group {
  start: number
  byteSize: number
  readonly members: Member[]
}

/** Groups the tensors to copy: those that overlap, as an operand does that the kernel overwrites, are one block. */
function groupsOf(plans: readonly (OperandPlan | null)[], ranges: readonly WorkerOperand[]): readonly Group[] {
  const members = plans.flatMap((plan, index): readonly Member[] =>
    plan === null || ranges[index] !== null ? [] : [{ plan, index }],
  )
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

const addressOf = ({ tensor }: OperandPlan): number => tensor?.address ?? 0

/** Marks the operands that overlap a result as written, because the worker must map them alike. */
function markAliases(ranges: readonly WorkerOperand[]): readonly WorkerOperand[] {
  const isAlias = (one: WorkerOperand): one is Range =>
    one !== null && !one.isWritten && ranges.some((other) => other?.isWritten === true && overlap(one, other))
  return ranges.some(isAlias) ? ranges.map((one) => (isAlias(one) ? { ...one, isWritten: true } : one)) : ranges
}

function overlap(a: Range, b: Range): boolean {
  return a.chunk === b.chunk && a.offset < b.offset + b.length && b.offset < a.offset + a.length
}
