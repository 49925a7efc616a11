/**
 * Addresses of pointers. Those of memory are numbers. A pointer of C can also have bits that a number does not hold, as `(void *)-1`
 * has; nothing can be read there, so such a pointer is a block without memory, whose address is kept here.
 */
import { ArgumentError } from '../errors/kinds.ts'
import { Block, noBytes, pointedView } from './block.ts'
import type { Gate } from './lifetime.ts'

/** The `address` of a block that is not memory, or whose address is 2^53 or above. */
export const NO_ADDRESS = -1

/** The addresses of 2^53 and above. */
const addresses = new WeakMap<Block, bigint>()

/** Returns a block of 0 bytes at an address. @param address a bigint from 2^53 to 2^64 - 1, or a number below. */
export function pointerBlock(gate: Gate, address: number | bigint): Block {
  if (typeof address === 'number') return new Block(gate, pointedView, noBytes, address)
  const block = new Block(gate, pointedView, noBytes, NO_ADDRESS)
  addresses.set(block, address)
  return block
}

/** A process that runs calls: its place among the processes of a library, from 0, and the number of its process. */
export interface RemoteWorker {
  readonly index: number
  readonly process: number
}

/** A place in the memory of another process. */
export interface RemotePlace {
  readonly worker: RemoteWorker
  readonly address: bigint
  /** Whether the process has ended. */
  isLost(): boolean
  /** Copies bytes from there. Blocks this thread. @throws {TenonError} as a call in that process */
  read(byteSize: number): Buffer
  /** Copies the text there. Blocks this thread. @throws {TenonError} as a call in that process */
  text(): string
}

const remotePlaces = new WeakMap<Block, RemotePlace>()

/** Returns a block of 0 bytes for a pointer that a function in another process has returned. */
export function remoteBlock(gate: Gate, place: RemotePlace): Block {
  const block = new Block(gate, pointedView, noBytes, NO_ADDRESS)
  remotePlaces.set(block, place)
  return block
}

/** Where a pointer of another process points; undefined for all other blocks. */
export function remotePlaceOf(block: Block): RemotePlace | undefined {
  return block.address === NO_ADDRESS ? remotePlaces.get(block) : undefined
}

const remotePointers = new WeakMap<object, Block>()

/** States that the bytes of memory are the address of a pointer of another process, so that calls with the memory run there. */
export function setRemotePointerIn(memory: object, pointer: Block): void {
  remotePointers.set(memory, pointer)
}

/** The pointer of another process whose address memory contains. Undefined for other memory. */
export const remotePointerIn = (memory: object): Block | undefined => remotePointers.get(memory)

/** Returns a pointer to the same place that another lifetime owns. */
export function samePointer(gate: Gate, block: Block, base: number): Block {
  const place = remotePlaceOf(block)
  return place === undefined ? pointerBlock(gate, addressIn(block, base)!) : remoteBlock(gate, place)
}

/**
 * The address of a place in a block: a bigint from 2^53 on. Undefined if the block is not a pointer.
 *
 * @throws {ArgumentError} if the block is a pointer of another process.
 */
export function addressIn(block: Block, base: number): number | bigint | undefined {
  return block.address === NO_ADDRESS ? (addresses.get(block) ?? refuseRemote(block)) : block.address + base
}

function refuseRemote(block: Block): undefined {
  const place = remotePlaces.get(block)
  if (place === undefined) return undefined
  throw new ArgumentError(`a pointer of process ${place.worker.process} cannot be used in this one`, {
    hint: 'Pass it to functions of the isolated library that returned it.',
  })
}
