import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { NativeLibrary } from '@tenon/core'
import { addressOf, functionAt } from '@tenon/core/internal'
import { Cuda, typedHandler, type TypedHandler } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'

/** Whether the tests run against NVIDIA's driver (`pnpm test:gpu`) instead of the simulated one. */
export const isReal: boolean = process.env['TENON_CUDA'] === 'real'

/** Whether NVIDIA's driver can be loaded. It is not initialised. */
export const isInstalled: boolean = (() => {
  try {
    NativeLibrary.open('libcuda.so.1')
    return true
  } catch {
    return false
  }
})()

/** The driver of the tests. */
export const cuda: Cuda = isReal ? Cuda.open() : Cuda.open({ library: kernelLibrary('simulated_cuda') })

/** The kinds of objects of the simulated driver, in the order of `sim_kind_t` in simulated.h. */
const KINDS = ['memory', 'streams', 'events', 'modules', 'graphs', 'executables', 'pinned', 'contexts'] as const

const driver = NativeLibrary.open(cuda.path)

/** Switches of the simulated driver. */
export const simulated: {
  /** Makes the next call of a function return a result and do nothing. */
  fail(name: string, result: number): void
  /** Makes streams stop or continue. */
  hold(held: boolean): void
  set(capacity: number, devices: number): void
  /** Clears a sticky error. */
  recover(): void
} = (() => {
  if (isReal) return {} as never
  const declare = (name: string, ...parameters: Parameters<typeof functionAt>[2]): ReturnType<typeof functionAt> =>
    functionAt(Number(driver.symbol(name)), 'void', parameters)
  const [fail, hold] = [declare('simulated_fail', 'uint64', 'int32'), declare('simulated_hold', 'int32')]
  const [set, recover] = [declare('simulated_set', 'uint64', 'int32'), declare('simulated_recover')]
  return {
    fail: (name, result) => {
      const text = Buffer.from(`${name}\0`)
      fail(addressOf(text), result)
    },
    hold: (held) => void hold(Number(held)),
    set: (capacity, devices) => void set(capacity, devices),
    recover: () => void recover(),
  }
})()

/** Counts the open objects of the simulated driver; the real one does not report them. */
export function openObjects(): Record<string, number> {
  if (isReal) return {}
  const count = functionAt(Number(driver.symbol('simulated_open')), 'int64', ['int32'])
  return Object.fromEntries(KINDS.map((kind, i) => [kind, Number(count(i))]))
}

/** The PTX of `saxpy` and `trap`. */
export const ptx: string = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve('@tenon/kernels')), 'cuda/saxpy.ptx'),
  'utf8',
)

/** The handlers that enqueue work. */
export const handlers: NativeLibrary = NativeLibrary.open(kernelLibrary('kernels_cuda'))

export function cudaHandler(name: string): TypedHandler {
  return typedHandler(handlers, name, { platform: 'CUDA' })
}

/** Returns the address of a function of the driver. */
export function driverFunction(name: string): bigint {
  return driver.symbol(name)
}
