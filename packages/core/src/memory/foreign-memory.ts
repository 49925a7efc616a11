import { wrongType, wrongValue } from '../errors/check-arguments.ts'
import { hex } from '../errors/describe.ts'
import { ArgumentRangeError } from '../errors/kinds.ts'
import { bufferOver } from '../native/call/buffer-over.ts'
import { ADDRESS_SPACE_END, NULL_PAGE } from './address-space.ts'
import { Block } from './block.ts'
import type { Gate } from './lifetime.ts'
import { ManagedLifetime } from './managed-lifetime.ts'
import { pointerBlock } from './pointer-address.ts'

/** Checks an address that came from outside. It is a bigint from 2^53 on. @throws {ArgumentError | ArgumentRangeError} */
export function checkAddress(address: unknown, name = 'address'): number | bigint {
  if (typeof address !== 'bigint' && typeof address !== 'number') {
    throw wrongType(name, 'a bigint or a number', address)
  }
  const number = Number(address)
  if (Number.isSafeInteger(number) && number >= 0) return number
  if (typeof address === 'bigint' && BigInt.asUintN(64, address) === address) return address
  throw wrongValue(name, 'a whole number from 0 to 2^53 - 1, or a bigint from 0 to 2^64 - 1', address)
}

/**
 * Returns a block over memory that native code owns. Its view is detached when the lifetime closes, and the memory is not freed.
 *
 * @throws {ArgumentRangeError} if no process has memory there.
 */
export function foreignBlock(gate: Gate, address: number | bigint, byteSize: number): Block {
  if (byteSize === 0) return pointerBlock(gate, address)
  if (address === 0) throw new ArgumentRangeError(`byteSize must be 0 for the null pointer, got ${byteSize}`)
  if (address < NULL_PAGE) {
    throw new ArgumentRangeError(`the address must be that of memory, got ${hex(address)}, near the null pointer`, {
      hint: 'Check the pointer for null before you add an offset to it.',
    })
  }
  if (typeof address === 'bigint' || address + byteSize > ADDRESS_SPACE_END) {
    throw new ArgumentRangeError(`the memory must end below 2^48, got ${byteSize} bytes at ${hex(address)}`)
  }
  const buffer = bufferOver(address, byteSize)
  const block = new Block(gate, new DataView(buffer), Buffer.from(buffer), address)
  if (gate.owner instanceof ManagedLifetime) gate.owner.adopt(block)
  return block
}
