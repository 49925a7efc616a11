import { cpu, NativeError, Tensor, type NativeAllocator, type Segment } from '@tenon/core'
import { AnswerReader, copyBytes, takeSharedStrings, type RemoteHost } from '@tenon/core/internal'
import { STRING, type ElementType } from '../element-types.ts'
import { resultType } from '../call/results.ts'

/** What a call expects as results. */
export interface ExpectedResults {
  readonly types: readonly ElementType[]
  /** The places of the results in messages. */
  readonly places: readonly string[]
  /** The tensors of the caller. */
  readonly into: readonly (Tensor | undefined)[]
  /** The allocator of the caller; undefined for the memory of the library. */
  readonly allocator: NativeAllocator | undefined
}

/** A result as the worker describes it, and the memory to which it is copied, unless that is a tensor of the caller. */
export interface DescribedResult {
  readonly shape: readonly number[]
  readonly part: number
  readonly segment: Segment | undefined
}

const HEAD_SIZE = 16
const MOST_AXES = 254
const STRING_SIZE = 24

/** Returns the reader of the results of a call in a worker, whose answer is not trusted. */
export function resultReader(host: RemoteHost, expected: ExpectedResults): AnswerReader<readonly DescribedResult[]> {
  return new AnswerReader(host.allocator, {
    decode: ({ buffer }, hasParts) => {
      const value = describe(Buffer.from(buffer), expected, hasParts ? host.allocator : undefined)
      const parts = value.flatMap(({ part, segment }) =>
        segment === undefined ? [] : [{ target: segment, index: part }],
      )
      return { value, parts }
    },
    malformed: damaged,
  })
}

/** The error for an answer that no worker gives unless it is damaged. */
export const damaged = (what: string): NativeError =>
  new NativeError(`the worker answered with ${what}, which is not valid`)

/** @param allocator undefined for an answer that has no parts. @throws {NativeError} for an answer that is not valid */
function describe(
  bytes: Buffer,
  { types, into }: ExpectedResults,
  allocator: NativeAllocator | undefined,
): readonly DescribedResult[] {
  let at = 0
  const all = types.map((type, i): DescribedResult => {
    if (bytes.length - at < HEAD_SIZE) throw damaged('too few results')
    const [rank, part] = [bytes.readInt32LE(at), bytes.readUInt32LE(at + 4)]
    const size = Number(bytes.readBigUInt64LE(at + 8))
    at += HEAD_SIZE
    if (rank < 0 || rank > MOST_AXES || bytes.length - at < 8 * rank) throw damaged('a result')
    const shape = Array.from({ length: rank }, (_, axis) => Number(bytes.readBigInt64LE(at + 8 * axis)))
    at += 8 * rank
    if (part === 0 ? into[i] === undefined : allocator === undefined) throw damaged('a result without memory')
    return { shape, part, segment: part === 0 ? undefined : allocate(allocator!, type, shape, size) }
  })
  if (at !== bytes.length) throw damaged('too many results')
  return all
}

/** @throws {NativeError} if the size is not that of the shape */
function allocate(allocator: NativeAllocator, type: ElementType, shape: readonly number[], size: number): Segment {
  const count = shape.reduce((product, axis) => (axis < 0 ? Number.NaN : product * axis), 1)
  const isFitting = type === STRING ? size >= STRING_SIZE * count : size === resultType(type, shape).byteSize
  if (!isFitting || !Number.isSafeInteger(size)) throw damaged('the size of a result')
  return allocator.allocate(size, 64)
}

/** Returns the results, whose parts have arrived. @throws {ArgumentError} with the string of a result that is damaged */
export function resultsOf(described: readonly DescribedResult[], expected: ExpectedResults): unknown[] {
  const { types, places, into, allocator } = expected
  return described.map(({ shape, segment }, i) => {
    if (segment === undefined) return into[i]
    if (types[i] === STRING) return takeSharedStrings({ layout: 'tf', shape, segment }, places[i]!, allocator)
    const type = resultType(types[i]!, shape)
    const made = new Tensor(segment, type, cpu)
    if (allocator === undefined) return made
    const copy = new Tensor(allocator.allocate(type.byteSize, 64), type, cpu)
    copyBytes(made, copy)
    return copy
  })
}
