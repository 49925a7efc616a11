import { ArgumentError, ArgumentRangeError, Segment, Tensor } from '@tenon/core'
import { addressOf, checkSize, checkEnterable, describe, pointerBits, type Gated } from '@tenon/core/internal'
import { Attribute } from '../attributes/attribute.ts'
import { isOnDevice } from './device-memory.ts'

/** How many threads run a kernel. */
export interface LaunchOptions {
  /** Blocks along x, y and z; 1 for what is left out. */
  readonly grid: readonly number[]
  /** Threads of a block along x, y and z; 1 for what is left out. */
  readonly block: readonly number[]
  /** Shared memory of each block beside what the kernel declares, in bytes; 0 without it. */
  readonly sharedBytes?: number
}

/** What a kernel is given: device memory as a pointer to it, or a number with its type. */
export type KernelParameter = Tensor | Segment | Attribute

type Three = readonly [number, number, number]

/** @throws {ArgumentError} if a size is none. */
export function sizesOf(options: LaunchOptions | undefined): readonly [Three, Three, number] {
  const { grid, block, sharedBytes = 0 }: Partial<LaunchOptions> = options ?? {}
  return [three(grid, 'grid'), three(block, 'block'), sharedOf(sharedBytes)]
}

function sharedOf(value: unknown): number {
  const byteSize = checkSize(value, 'sharedBytes')
  if (byteSize < 2 ** 32) return byteSize
  throw new ArgumentRangeError(`sharedBytes must be below 2^32, got ${byteSize}`)
}

function three(sizes: unknown, place: string): Three {
  if (Array.isArray(sizes) && sizes.length >= 1 && sizes.length <= 3) {
    const [x = 1, y = 1, z = 1]: readonly unknown[] = sizes
    if ([x, y, z].every((size) => Number.isInteger(size) && Number(size) > 0 && Number(size) < 2 ** 31)) {
      return [Number(x), Number(y), Number(z)]
    }
  }
  throw new ArgumentError(`${place} must be one to three sizes from 1 on, got ${describe(sizes)}`, {
    hint: `write ${place}: [256] or ${place}: [16, 16].`,
  })
}

/** The values of parameters, 16 bytes each, and an array of pointers to them. */
export interface EncodedParameters {
  /** What is kept until the kernel is launched. */
  readonly memory: DataView
  readonly pointers: BigUint64Array
  /** What is kept until it has run. */
  readonly held: readonly Gated[]
}

/** @throws {ArgumentError} if something can't be passed. @throws {ScopeClosedError} if memory is closed. */
export function encodeParameters(kernel: string, parameters: readonly KernelParameter[]): EncodedParameters {
  if (!Array.isArray(parameters)) throw new ArgumentError(`the parameters of ${kernel} must be an array`)
  const memory = new DataView(new ArrayBuffer(16 * Math.max(parameters.length, 1)))
  const start = addressOf(memory)
  const held: Gated[] = []
  parameters.forEach((parameter: unknown, i) => {
    if (parameter instanceof Attribute && parameter.kind === 'scalar') {
      new Uint8Array(memory.buffer).set(parameter.bytes, 16 * i)
      return
    }
    const segment = parameter instanceof Tensor ? parameter.segment : parameter
    if (!(segment instanceof Segment) || !isOnDevice(parameter as Tensor | Segment)) {
      throw new ArgumentError(
        `parameter ${i} of ${kernel} must be memory of the device or a number with its type, got ${describe(parameter)}`,
        { hint: 'write f32(1.5), s32(3) or u64(7n).' },
      )
    }
    checkEnterable(segment.block)
    memory.setFloat64(16 * i, pointerBits(segment.block.address + segment.base), true)
    held.push(segment.block)
  })
  const pointers = BigUint64Array.from(parameters, (_, i) => BigInt(start + 16 * i))
  return { memory, pointers, held }
}
