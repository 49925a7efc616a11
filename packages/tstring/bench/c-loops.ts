import { dirname, join } from 'node:path'
import { NativeLibrary, type Segment } from '@tenon/core'
import { addressOf, coreLibrary, functionAt } from '@tenon/core/internal'

/** Plain loops in C without any checks, as a caller of the C API would write them. */
export interface CLoops {
  /** One memcpy for each string, from `data` into `out`. */
  memcpyEach(data: Uint8Array, offsets: Uint32Array, count: number, out: Uint8Array): void
  /** The same for the strings of a table of structs of `stride` bytes. */
  memcpyEachStruct(structs: Segment, count: number, stride: number, out: Uint8Array): void
  /** The same for the strings of a legacy tensor. */
  memcpyEachLegacy(tensor: Segment, count: number, out: Uint8Array): void
  /** One TF_TString_Copy for each string, then one TF_TString_Dealloc for each. */
  copyEach(data: Uint8Array, offsets: Uint32Array, count: number, structs: Uint8Array): void
}

/** The loops that are built beside the core for the benchmarks. */
export function cLoops(): CLoops {
  const library = NativeLibrary.open(join(dirname(coreLibrary().path), 'libtstring_peers.so'))
  const four = ['uint64', 'uint64', 'uint64', 'uint64'] as const
  const bind = (name: string, parameters: readonly 'uint64'[]): ((...values: number[]) => number) =>
    functionAt(Number(library.symbol(name)), 'int32', parameters)
  const memcpyEach = bind('peers_memcpy_each', four)
  const memcpyEachStruct = bind('peers_memcpy_each_struct', four)
  const memcpyEachLegacy = bind('peers_memcpy_each_legacy', four.slice(1))
  const copyEach = bind('peers_copy_each', four)
  const deallocEach = bind('peers_dealloc_each', four.slice(2))
  return {
    memcpyEach: (data, offsets, count, out) =>
      void memcpyEach(addressOf(data), addressOf(offsets), count, addressOf(out)),
    memcpyEachStruct: (structs, count, stride, out) =>
      void memcpyEachStruct(Number(structs.address), count, stride, addressOf(out)),
    memcpyEachLegacy: (tensor, count, out) => void memcpyEachLegacy(Number(tensor.address), count, addressOf(out)),
    copyEach(data, offsets, count, structs) {
      copyEach(addressOf(data), addressOf(offsets), count, addressOf(structs))
      deallocEach(addressOf(structs), count)
    },
  }
}
