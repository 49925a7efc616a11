import { loadAddon } from '@tenon/bench'

/** The hand-written addon of `tools/bench/csrc/custom_call_addon.c`. */
interface CustomCallAddon {
  /** Lays out the frame of `weighted_sum` in C, for the addresses of the handler and of the function table. */
  prepareTyped(handler: number, api: number, weights: Int32Array): void
  /** Calls with the pointers of four arrays. */
  runTyped(x0: Float32Array, x1: Float32Array, x2: Float32Array, y: Float32Array): void
  /** Calls with the arrays of the last {@link runTyped}, which the caller keeps alive. */
  runTypedBound(): void
  /** Sets the function and its array, which the caller keeps alive. */
  bindHost(function_: number, both: Int32Array): void
  runHost(): void
  setTarget(target: (frame: number) => number): void
  callTarget(): void
}

/** Loads the addon that a user would write in C for one kernel. */
export function customCallAddon(): CustomCallAddon {
  return loadAddon<CustomCallAddon>('custom_call_addon')
}
