import { isAnyArrayBuffer } from 'node:util/types'
import { wrongType } from '../errors/check-arguments.ts'
import { ArgumentError, UnsupportedError } from '../errors/kinds.ts'
import { byteLengthOf } from '../memory/array-buffer.ts'
import type { Block } from '../memory/block.ts'
import { checkDevice, cpu } from '../types/device.ts'
import { blockAt, blockOf, type Keeper } from './foreign-block.ts'
import { arrayFacts, type AddressRange, type AdoptOptions, type FoundMore, type FoundNumbers } from './found.ts'

/** Memory that was checked, and the part of it that the elements must not leave, in bytes. */
export interface FoundMemory {
  readonly block: Block
  readonly start: number
  readonly byteSize: number
  /** The class of the TypedArray. Undefined for a buffer or an address. */
  readonly array: string | undefined
}

/** Looks at the memory of a tensor. @throws {ArgumentError | UnsupportedError} if it is not that of a TypedArray or buffer. */
export function memoryOf({ memory, more }: FoundNumbers, place: string, { trustAddress }: AdoptOptions): FoundMemory {
  const keeper = more === undefined ? undefined : keeperOf(more)
  const facts = arrayFacts(memory)
  if (facts !== undefined) {
    const { buffer, byteOffset, byteLength, name } = facts
    return { block: blockOf(buffer, place, keeper), start: byteOffset, byteSize: byteLength, array: name }
  }
  if (more?.device !== undefined && checkDevice(more.device).type !== cpu.type) {
    throw new UnsupportedError(`${place} must be in memory of the CPU, got memory of another device`, {
      hint: 'Copy it to the CPU with the library that owns it.',
    })
  }
  if (isAnyArrayBuffer(memory)) {
    return { block: blockOf(memory, place, keeper), start: 0, byteSize: byteLengthOf(memory), array: undefined }
  }
  if (typeof memory !== 'object' || memory === null || !('address' in memory)) {
    throw wrongType(
      `the memory of ${place}`,
      'a TypedArray',
      memory,
      'Copy the values with tensor(dtype, shape, values).',
    )
  }
  if (trustAddress !== true) {
    throw new ArgumentError(`${place} must be in a buffer of JavaScript, got an address`, {
      hint: 'If you trust the library of the address, make a tensor with from(x, { trustAddress: true }).',
    })
  }
  const { address, byteSize } = memory as AddressRange
  const block = blockAt(address, byteSize, keeper)
  return { block, start: 0, byteSize: block.view.byteLength, array: undefined }
}

function keeperOf({ owner, hold }: FoundMore): Keeper | undefined {
  if (owner === undefined && hold === undefined) return undefined
  if (owner !== undefined && (typeof owner !== 'object' || owner === null)) {
    throw wrongType('the owner of an offered tensor', 'an object', owner)
  }
  if (hold !== undefined && typeof hold !== 'function') throw wrongType('hold of an offered tensor', 'a function', hold)
  return { owner: owner as object | undefined, hold: hold as Keeper['hold'] }
}
