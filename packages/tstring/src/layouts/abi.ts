import { endianness } from 'node:os'
import { checkOneOf } from '../errors/arguments.ts'

/** The pointer size and byte order of the machine that a tensor's bytes are for. */
export type Abi = 'le64' | 'be64' | 'le32' | 'be32'

export const abis: readonly Abi[] = ['le64', 'be64', 'le32', 'be32']

export interface AbiInfo {
  readonly littleEndian: boolean
  /** The bytes of a pointer and of a size word. */
  readonly wordSize: 4 | 8
}

export const hostLittleEndian: boolean = endianness() === 'LE'

/** The ABI of this process, which has 64 bits on every platform of Tenon. Pointers of other ABIs are not followed. */
export const hostAbi: Abi = hostLittleEndian ? 'le64' : 'be64'

export function abiInfo(abi: Abi): AbiInfo {
  checkOneOf(abi, abis, 'abi')
  return { littleEndian: abi.startsWith('le'), wordSize: abi.endsWith('64') ? 8 : 4 }
}
