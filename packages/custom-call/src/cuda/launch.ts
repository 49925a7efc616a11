import { Segment, Tensor } from '@tenon/core'
import {
  addressOf,
  checkEnterable,
  checkOptions,
  checkSize,
  writeAddress,
  wrongType,
  wrongValue,
  type Gated,
} from '@tenon/core/internal'
import { Attribute } from '../attributes/attribute.ts'
import { addressIn, isOnDevice } from './device-memory.ts'

/** The number of threads that run a kernel. */
export interface LaunchOptions {
  /** The number of blocks along x, y and z. Missing numbers are 1. */
  readonly grid: readonly number[]
  /** The number of threads in a block along x, y and z. Missing numbers are 1. */
  readonly block: readonly number[]
  /** The shared memory of each block in bytes, in addition to the memory that the kernel declares. Default: 0. */
  readonly sharedBytes?: number
}

/** A kernel parameter: device memory, which is passed as a pointer, or a number with its type. */
export type KernelParameter = Tensor | Segment | Attribute

type Three = readonly [number, number, number]

/** Checks launch options: grid, block, and bytes of shared memory. @throws {ArgumentError} */
export function sizesOf(options: LaunchOptions | undefined): readonly [Three, Three, number] {
  const { grid, block, sharedBytes = 0 } = checkOptions(options, ['grid', 'block', 'sharedBytes'])
  return [three(grid, 'grid'), three(block, 'block'), sharedOf(sharedBytes)]
}

function sharedOf(value: unknown): number {
  const byteSize = checkSize(value, 'sharedBytes')
  if (byteSize < 2 ** 32) return byteSize
  throw wrongValue('sharedBytes', 'below 2^32', byteSize)
}

function three(sizes: unknown, place: string): Three {
  if (Array.isArray(sizes) && sizes.length >= 1 && sizes.length <= 3) {
    const [x = 1, y = 1, z = 1]: readonly unknown[] = sizes
    if ([x, y, z].every((size) => Number.isInteger(size) && Number(size) > 0 && Number(size) < 2 ** 31)) {
      return [Number(x), Number(y), Number(z)]
    }
  }
  throw wrongType(place, 'one to three positive integers', sizes, `Write ${place}: [256] or ${place}: [16, 16].`)
}

export interface EncodedParameters {
  /** The values, 16 bytes each, and then the pointers to them. */
  readonly memory: DataView
  /** The address of the pointers; 0 if the kernel has no parameters. */
  readonly pointersAddress: number
  /** The memory that the kernel uses, which is kept until it has run. */
  readonly held: readonly Gated[]
}

/** Encodes the parameters of a kernel. @throws {ArgumentError} if one cannot be passed. @throws {ScopeClosedError} */
export function encodeParameters(kernel: string, parameters: readonly KernelParameter[]): EncodedParameters {
  if (!Array.isArray(parameters)) throw wrongType(`the parameters of ${kernel}`, 'an array', parameters)
  const count = parameters.length
  const memory = new DataView(new ArrayBuffer(24 * count))
  const start = count === 0 ? 0 : addressOf(memory)
  const held: Gated[] = []
  parameters.forEach((parameter: unknown, i) => {
    writeAddress(memory, 16 * count + 8 * i, start + 16 * i)
    if (parameter instanceof Attribute && parameter.kind === 'scalar') {
      new Uint8Array(memory.buffer).set(parameter.bytes, 16 * i)
      return
    }
    const segment = parameter instanceof Tensor ? parameter.segment : parameter
    if (!(segment instanceof Segment) || !isOnDevice(parameter as Tensor | Segment)) {
      const hint = 'Write f32(1.5), s32(3) or u64(7n).'
      throw wrongType(`parameter ${i} of ${kernel}`, 'device memory or a number with its type', parameter, hint)
    }
    checkEnterable(segment.block)
    writeAddress(memory, 16 * i, addressIn(segment))
    held.push(segment.block)
  })
  return { memory, pointersAddress: count === 0 ? 0 : start + 16 * count, held }
}
