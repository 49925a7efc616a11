import { Hold, type Tensor } from '@tenon/core'
import type { Host } from '../native/host.ts'

/** Memory of callers to which kernels still refer, with what keeps it open. */
const all: { readonly memory: number; readonly hold: Hold }[] = []

/** Keeps the memory of a tensor open until no kernel refers to it. @param source what else the memory needs */
export function keepMemory(memory: number, { gate }: Tensor, source: unknown): void {
  all.push({ memory, hold: new Hold(gate, source) })
}

/** Releases the memory to which no kernel refers any more. */
export function releaseKeptMemory({ entered }: Host): void {
  for (let i = all.length - 1; i >= 0; i--) {
    const { memory, hold } = all[i]!
    if (entered.tn_tf_memory_release(memory) === 0) continue
    hold.release()
    all.splice(i, 1)
  }
}

/** Whether a kernel refers to memory of a caller. */
export const hasKeptMemory = (): boolean => all.length > 0
