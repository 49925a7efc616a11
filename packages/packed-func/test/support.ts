import { kernelLibrary } from '@tenon/kernels'
import { Module, type PackedFunc } from '../src/index.ts'
import { foreignValues, drainReleased } from '../src/native/foreign.ts'
import { openStack } from '../src/native/stack.ts'
import { heldObjects } from '../src/objects/native-object.ts'

/**
 * Whether this package's libtvm_ffi is tested. `TENON_TVM_FFI_LIBRARY` names another: it words some messages otherwise,
 * has no counters, orders a Dict in its own way, and loads no libraries of TVM 0.21.
 */
export const isOwnLibrary: boolean = openStack().host.liveObjects !== undefined

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

/** What is thrown, or a failure if nothing is. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** What is alive on both sides: equal before and after means that nothing leaked. */
export function live(): { native: number; held: number; foreign: number } {
  const stack = openStack()
  drainReleased(stack)
  return { native: Number(stack.host.liveObjects?.() ?? 0), held: heldObjects(), foreign: foreignValues.size }
}

/** Lets the garbage collector run until `done`. Needs --expose-gc. */
export async function collect(done: () => boolean): Promise<void> {
  const gc = (globalThis as { gc?: () => void }).gc
  if (gc === undefined) throw new Error('run with --expose-gc')
  for (let i = 0; i < 50 && !done(); i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
}
