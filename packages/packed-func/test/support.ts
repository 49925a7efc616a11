import { kernelLibrary } from '@tenon/kernels'
import { Module, type PackedFunc } from '../src/index.ts'
import { foreignValues, drainReleased } from '../src/native/foreign.ts'
import { host } from '../src/native/host.ts'
import { openStack } from '../src/native/stack.ts'
import { heldObjects } from '../src/objects/native-object.ts'

/**
 * Whether this package's libtvm_ffi is tested. A library named by `TENON_TVM_FFI_LIBRARY` has other messages, no counters and
 * another order of a Dict, and does not load libraries of TVM 0.21.
 */
export const isOwnLibrary: boolean = host().ffi !== undefined

const modules = new Map<string, Module>()

/** A function of the example kernels. */
export function kernel(name: string, library = 'packed'): PackedFunc {
  let module = modules.get(library)
  if (module === undefined) {
    module = Module.open(kernelLibrary(library))
    modules.set(library, module)
  }
  return module.get(name)
}

/** The error that `run` throws. The test fails if it throws nothing. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** The live objects on both sides. Equal numbers before and after show that nothing leaked. */
export function live(): { native: number; held: number; foreign: number } {
  const stack = openStack()
  drainReleased(stack)
  return { native: Number(host().ffi?.tn_tvm_live_objects() ?? 0), held: heldObjects(), foreign: foreignValues.size }
}

/** Runs the garbage collector until `done`. Needs --expose-gc. */
export async function collect(done: () => boolean): Promise<void> {
  const gc = (globalThis as { gc?: () => void }).gc
  if (gc === undefined) throw new Error('run with --expose-gc')
  for (let i = 0; i < 50 && !done(); i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Collects until three collections in a row release nothing. */
export function collectAll(): Promise<void> {
  let [last, repeated] = ['', 0]
  return collect(() => {
    const now = JSON.stringify(live())
    repeated = now === last ? repeated + 1 : 0
    last = now
    return repeated === 3
  })
}

/**
 * Fills the stack of JavaScript, and tries a call on the way back, with a little more room each time, so that each step of the call is once
 * where the stack ends. Returns how often the stack was full.
 */
export function fillStack(call: () => unknown): number {
  let [refused, sinceRefused] = [0, 0]
  const attempt = (): void => {
    try {
      call()
    } catch (error) {
      if (error instanceof RangeError) {
        refused++
        sinceRefused = 0
        return
      }
    }
    sinceRefused++
  }
  const dive = (): void => {
    try {
      dive()
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
    if (sinceRefused < 100) attempt()
  }
  dive()
  return refused
}
