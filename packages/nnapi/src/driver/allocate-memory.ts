import { failed } from '@tenon/pools/internal'
import { PoolsError } from '@tenon/pools'
import { isFullySpecified } from '../model/operand-types.ts'
import { DeviceBuffer } from './device-buffer.ts'
import { type AllocateOptions, rolesOf } from './driver-client.ts'
import { FallbackBuffer } from './fallback-buffer.ts'
import { checkRequestOptions } from './request-options.ts'

/**
 * Allocates memory for inputs and outputs of models: memory of their driver, or ordinary memory with the same roles and states
 * if they have several drivers or their driver refuses (D14). `driver.allocate` never falls back to ordinary memory.
 *
 * @returns a buffer that the caller closes. `isFallback` is true for ordinary memory.
 * @throws {PoolsError} D1 to D10; the driver's failure if the size is not known, so that no other memory can be taken.
 * @example
 * const state = await allocateMemory({ roles: [prepared.input(0), prepared.output(0)] })
 * state.isFallback // false
 * state.close()
 */
export async function allocateMemory(options: AllocateOptions): Promise<DeviceBuffer> {
  checkRequestOptions(options, 'signal', 'roles', 'dimensions')
  const { models, shape: shapeOf } = rolesOf(options)
  const shape = shapeOf()
  const drivers = new Set(models.map(({ driver }) => driver))
  let failure = failed('D14', 'models of several drivers can only share ordinary memory')
  if (drivers.size === 1) {
    try {
      return await models[0]!.driver.allocate(options)
    } catch (error) {
      if (!(error instanceof PoolsError) || error.status === 'DEAD_OBJECT') throw error
      failure = error
    }
  }
  if (!isFullySpecified(shape.operand.type, shape.dimensions)) throw failure
  return new DeviceBuffer(new FallbackBuffer(shape, options.roles), shape)
}
