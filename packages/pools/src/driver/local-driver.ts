import { DEFAULT_LIMITS, type DriverLimits } from '../engine/limits.ts'
import { Session } from '../engine/session.ts'
import { cpuKernels } from '../kernels/cpu-kernels.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import { Driver } from './driver-client.ts'
import { LocalBackend } from './local-backend.ts'

/** What a driver is made of. */
export interface DriverOptions {
  /** Its operations; those of the reference CPU driver without it. */
  readonly kernels?: KernelRegistry
  readonly limits?: Partial<DriverLimits>
}

/**
 * A driver in this process, on this thread.
 *
 * @example
 * const driver = localDriver()
 * const prepared = await driver.prepare(model)
 * await driver.close()
 */
export function localDriver(options: DriverOptions = {}): Driver {
  const { kernels = cpuKernels, limits } = options
  return new Driver(new LocalBackend(new Session(kernels, { ...DEFAULT_LIMITS, ...limits })))
}
