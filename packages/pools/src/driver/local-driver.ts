import { checkOptions } from '@tenon/core/internal'
import { type DriverLimits, limitsOf } from '../engine/limits.ts'
import { Session } from '../engine/session.ts'
import { cpuKernels } from '../kernels/cpu-kernels.ts'
import type { KernelRegistry } from '../kernels/kernel.ts'
import { Driver } from './driver-client.ts'
import { LocalBackend } from './local-backend.ts'

/** The parts of a driver. */
export interface DriverOptions {
  /** Its operations, by default those of the reference CPU driver. */
  readonly kernels?: KernelRegistry
  /** The most that one client may use. Limits that are left out have their defaults. */
  readonly limits?: Partial<DriverLimits>
}

/**
 * Opens a driver on this thread.
 *
 * @example
 * const driver = localDriver()
 * const prepared = await driver.prepare(model)
 * await driver.closeAsync()
 */
export function localDriver(options?: DriverOptions): Driver {
  const { kernels = cpuKernels, limits } = checkOptions(options, ['kernels', 'limits'])
  return new Driver(new LocalBackend(new Session(kernels, limitsOf(limits))))
}
