import { PoolsError } from '../error-status.ts'
import { isFullySpecified } from '../model/operand-types.ts'
import { DeviceBuffer } from './device-buffer.ts'
import { type AllocateOptions, rolesOf } from './driver-client.ts'
import { FallbackBuffer } from './fallback-buffer.ts'

/**
 * Allocates memory for inputs and outputs of models, wherever it can be had: of their driver; or, if they have several drivers
 * or theirs refuses, ordinary memory that is used in the same way (D14). `driver.allocate` never falls back.
 *
 * @returns a buffer that the caller closes: its `isFallback` says which it is.
 * @throws {PoolsError} D1 to D10; the driver's failure if the size isn't known, so that nothing can stand in for it.
 * @example
 * const state = await allocateMemory({ roles: [prepared.input(0), prepared.output(0)] })
 * state.isFallback // false
 * state.close()
 */
export async function allocateMemory(options: AllocateOptions): Promise<DeviceBuffer> {
  const { models, shape: shapeOf } = rolesOf(options)
  const shape = shapeOf()
  const drivers = new Set(models.map(({ driver }) => driver))
  let failure = new PoolsError('GENERAL_FAILURE', 'models of several drivers share ordinary memory alone (rule D14)', {
    rule: 'D14',
  })
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
