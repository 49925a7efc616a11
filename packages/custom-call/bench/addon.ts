import { loadAddon } from '@tenon/bench'

/** The hand-written addon of `tools/bench/csrc/custom_call_addon.c`. */
interface CustomCallAddon {
  /** Lays out the frame of `weighted_sum` in C, for the addresses of the handler and of the function table. */
  prepareTyped(handler: number, api: number, weights: Int32Array): void
  /** Takes the pointers out of four arrays, and calls. */
  runTyped(x0: Float32Array, x1: Float32Array, x2: Float32Array, y: Float32Array): void
  /** Calls with the arrays of the last {@link runTyped}, which the caller keeps. */
  runTypedBound(): void
  /** Sets the function, and what it reads and writes: kept by the caller. */
  bindHost(function_: number, both: Int32Array): void
  runHost(): void
  setTarget(target: (frame: number) => number): void
  callTarget(): void
}

/** What a user would write in C for one kernel, without Tenon. */
export function customCallAddon(): CustomCallAddon {
  return loadAddon<CustomCallAddon>('custom_call_addon')
}
