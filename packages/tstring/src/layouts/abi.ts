import { endianness } from 'node:os'
import { ArgumentError } from '@tenon/core'
import { describe } from '@tenon/core/internal'

/** Pointer size and byte order of the machine that a tensor's bytes are for. */
export type Abi = 'le64' | 'be64' | 'le32' | 'be32'

/** All ABIs, in the order of the C core's numbers. */
export const abis: readonly Abi[] = ['le64', 'be64', 'le32', 'be32']

/** What an ABI means for the words in a struct. */
export interface AbiInfo {
  readonly littleEndian: boolean
  /** Bytes of a pointer and of a size word. */
  readonly wordSize: 4 | 8
}

const infos: Readonly<Record<Abi, AbiInfo>> = {
  le64: { littleEndian: true, wordSize: 8 },
  be64: { littleEndian: false, wordSize: 8 },
  le32: { littleEndian: true, wordSize: 4 },
  be32: { littleEndian: false, wordSize: 4 },
}

/** Whether this machine stores the low byte first. */
export const hostLittleEndian: boolean = endianness() === 'LE'

const narrow = new Set<string>(['arm', 'ia32', 'mips', 'mipsel', 'ppc', 's390'])

/** The ABI of this process: the only one whose pointers are followed. */
export const hostAbi: Abi = `${hostLittleEndian ? 'le' : 'be'}${narrow.has(process.arch) ? '32' : '64'}`

/** What an ABI's name means. @throws {ArgumentError} for any other name. */
export function abiInfo(abi: Abi): AbiInfo {
  const info = infos[abi]
  if (info !== undefined) return info
  throw new ArgumentError(`abi must be one of ${abis.join(', ')}, got ${describe(abi)}`)
}
