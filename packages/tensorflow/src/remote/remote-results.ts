import { cpu, gcAllocator, Tensor, type NativeAllocator, type Segment } from '@tenon/core'
import { copyBytes, type RemoteAnswer, type RemoteHost, type RemotePart } from '@tenon/core/internal'
import { STRING, type ElementType } from '../element-types.ts'
import { resultType, type MakeStrings } from '../call/results.ts'
import { copyOf, damaged, LongAnswer, partOf } from './long-answer.ts'

/** What a call expects as results. */
export interface ExpectedResults {
  readonly types: readonly ElementType[]
  /** The tensors of the caller. */
  readonly into: readonly (Tensor | undefined)[]
  /** The allocator of the caller; undefined for the memory of the library. */
  readonly allocator: NativeAllocator | undefined
  readonly makeStrings: MakeStrings
}

/** A result as the worker describes it, and the memory to which it is copied. */
interface Described {
  readonly shape: readonly number[]
  readonly part: number
  readonly segment: Segment | undefined
}

const HEAD_SIZE = 16
const MOST_AXES = 254
const STRING_SIZE = 24

/** The results of a call in a worker, whose answer is not trusted. */
export class RemoteResults {
  readonly #host: RemoteHost
  readonly #expected: ExpectedResults
  readonly #answer: LongAnswer
  #described: readonly Described[] | undefined

  constructor(host: RemoteHost, expected: ExpectedResults) {
    this.#host = host
    this.#expected = expected
    this.#answer = new LongAnswer(host)
  }

  /** Returns where the answer, and then the results are copied to. */
  parts(answer: RemoteAnswer): readonly RemotePart[] {
    const [own] = this.#answer.parts(answer)
    if (own !== undefined) return [own]
    if (this.#described !== undefined) return []
    this.#described = this.#describe(this.#answer.bytes(answer))
    return this.#described.flatMap(({ part, segment }) => (segment === undefined ? [] : [partOf(segment, part)]))
  }

  read(answer: RemoteAnswer): unknown[] {
    const described = this.#described ?? this.#describe(this.#answer.bytes(answer))
    return described.map((one, i) => this.#valueOf(one, i))
  }

  #describe(bytes: Buffer): readonly Described[] {
    let at = 0
    const all = this.#expected.types.map((type, i): Described => {
      if (bytes.length - at < HEAD_SIZE) throw damaged('too few results')
      const [rank, part, size] = [
        bytes.readInt32LE(at),
        bytes.readUInt32LE(at + 4),
        Number(bytes.readBigUInt64LE(at + 8)),
      ]
      at += HEAD_SIZE
      if (rank < 0 || rank > MOST_AXES || bytes.length - at < 8 * rank) throw damaged('a result')
      const shape = Array.from({ length: rank }, (_, axis) => Number(bytes.readBigInt64LE(at + 8 * axis)))
      at += 8 * rank
      if (part === 0 && this.#expected.into[i] === undefined) throw damaged('a result without memory')
      return { shape, part, segment: part === 0 ? undefined : this.#allocate(type, shape, size) }
    })
    if (at !== bytes.length) throw damaged('too many results')
    return all
  }

  /** @throws {NativeError} if the size is not that of the shape */
  #allocate(type: ElementType, shape: readonly number[], size: number): Segment {
    const count = shape.reduce((product, axis) => (axis < 0 ? Number.NaN : product * axis), 1)
    const isFitting = type === STRING ? size >= STRING_SIZE * count : size === resultType(type, shape).byteSize
    if (!isFitting || !Number.isSafeInteger(size)) throw damaged('the size of a result')
    return this.#host.allocator.allocate(size, 64)
  }

  #valueOf({ shape, segment }: Described, index: number): unknown {
    const { types, into, allocator, makeStrings } = this.#expected
    if (segment === undefined) return into[index]
    if (types[index] === STRING) {
      const strings = (allocator ?? gcAllocator).allocate(segment.byteSize, 8)
      strings.block.bytes.set(copyOf(segment), strings.base)
      return makeStrings({ layout: 'tf', shape, segment: strings })
    }
    const type = resultType(types[index]!, shape)
    const made = new Tensor(segment, type, cpu)
    if (allocator === undefined) return made
    const copy = new Tensor(allocator.allocate(type.byteSize, 64), type, cpu)
    copyBytes(made, copy)
    return copy
  }
}
