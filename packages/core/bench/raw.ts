/** The peers of the plots: functions of `tools/bench/csrc/kernels.c`, called without Tenon. */
import { addonFunction, KERNELS } from '@tenon/bench'
import { NativeLibrary } from '@tenon/core'
import koffi from 'koffi'

export const kernels: NativeLibrary = NativeLibrary.open(KERNELS)

type Sum<Result> = (memory: Buffer, byteSize: number) => Result

/** The sum of the words of a Buffer, called by raw koffi and by the hand-written addon, also on other threads. */
export interface RawSum {
  readonly koffi: Sum<number>
  readonly koffiLater: Sum<Promise<number>>
  readonly addon: Sum<number>
  readonly addonLater: Sum<Promise<number>>
}

/** Binds `bench_sum()`, and checks that all get the right sum. */
export async function openRawSum(): Promise<RawSum> {
  const bound = koffi.load(KERNELS).func('bench_sum', 'int32_t', ['void *', 'int64_t'])
  const address = kernels.symbol('bench_sum')
  const raw: RawSum = {
    koffi: bound as unknown as Sum<number>,
    koffiLater: (memory, byteSize) =>
      new Promise((resolve, reject) => {
        bound.async(memory, byteSize, (error: Error | null, sum: number) =>
          error === null ? resolve(sum) : reject(error),
        )
      }),
    addon: addonFunction('bufferAndLength', address),
    addonLater: addonFunction('bufferAndLengthLater', address),
  }
  const words = Buffer.from(Int32Array.of(1, 2, 3).buffer)
  for (const [name, sum] of Object.entries(raw) as [string, Sum<number | Promise<number>>][])
    if ((await sum(words, 12)) !== 6) throw new Error(`${name} gives a wrong sum`)
  return raw
}
