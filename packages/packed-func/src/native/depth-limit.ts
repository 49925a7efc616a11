import { coreLibrary } from '@tenon/core/internal'

/** V8's stack on the main thread, in KiB, unless Node.js is started with `--stack-size`. */
const DEFAULT_STACK = 984

/** Left to the program, in KiB: it calls native code from its own frames. */
const RESERVE = 256

/**
 * What a call into native code and back takes of V8's stack, in KiB, by the driver of the core: 2.7 to 3 for the smallest function, and
 * 6.6 through koffi.
 */
const LEVELS = { 'node-api': 4, koffi: 8 }

/** The stack of native code has 8 MiB, so that this many kernels may have frames of 8 KiB each. */
const MOST = 1000

/** A limit that programs can rely on with any stack. The stack of V8 ends the recursion first if it is smaller. */
const LEAST = 128

/** How deep calls between JavaScript and native code of this thread may be nested. */
export function callDepthLimit(): number {
  const { isMainThread, resourceLimits } = process.getBuiltinModule('node:worker_threads')
  const stack = isMainThread ? stackOfMainThread(process.execArgv) : (resourceLimits.stackSizeMb ?? 4) * 1024
  return depthLimitOf(stack, coreLibrary().driver.kind)
}

/** The limit for a stack of V8 of a size in KiB, and a driver. */
export function depthLimitOf(stack: number, driver: keyof typeof LEVELS): number {
  return Math.max(LEAST, Math.min(MOST, Math.floor((stack - RESERVE) / LEVELS[driver])))
}

/** The size in KiB that the last `--stack-size` of the arguments gives. V8 takes `_` for `-`, and the size as the next argument, too. */
export function stackOfMainThread(execArgv: readonly string[]): number {
  const sizes = execArgv.map((argument, i) => {
    const [, size] = /^--?stack[-_]size(?:=(\d+))?$/.exec(argument) ?? [undefined, 'none']
    return Number(size ?? execArgv[i + 1])
  })
  return sizes.findLast((size) => Number.isInteger(size) && size > 0) ?? DEFAULT_STACK
}
