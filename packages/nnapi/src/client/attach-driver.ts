import { wrongType } from '@tenon/core/internal'
import { PoolsError } from '@tenon/pools'
import { closeDescriptor, duplicateDescriptor } from '@tenon/pools/internal'
import { DeviceBuffer } from '../driver/device-buffer.ts'
import { Driver, PreparedModel } from '../driver/driver-client.ts'
import { claim, type DriverHandle } from '../driver/driver-handle.ts'
import { Socket } from '../link/socket.ts'
import { openConnection } from './open-connection.ts'
import { RemoteBackend, RemoteBuffer, RemoteModel } from './remote-backend.ts'

/**
 * Uses a driver of another thread of this process, and the models and buffers that this thread has shared: the same device buffer has the
 * same value on all threads. Requests of the threads run one after the other. An attached driver prepares no models and allocates no buffers,
 * closing it ends nothing on other threads, and it ends with the driver of the thread that shared it.
 *
 * @param handle what `driver.share()` returned, which one thread can attach, once.
 * @throws {PoolsError} `DEAD_OBJECT` if a thread has attached the handle, or the driver was closed.
 * @example
 * const started = await workerDriver()
 * const { driver } = await attachDriver(await started.share())
 * driver.isAlive // true
 * await driver.closeAsync()
 * await started.closeAsync()
 */
export async function attachDriver(handle: object): Promise<{
  readonly driver: Driver
  readonly models: Readonly<Record<string, PreparedModel>>
  readonly buffers: Readonly<Record<string, DeviceBuffer>>
}> {
  const known = checkHandle(handle)
  const { models, buffers } = known
  const connection = openConnection(new Socket(takeSocket(known)), false)
  await connection.hello(undefined)
  const driver = new Driver(new RemoteBackend(connection, async () => {}))
  const own = <T, Made>(named: Readonly<Record<string, T>>, make: (part: T) => Made): Record<string, Made> =>
    Object.fromEntries(Object.entries(named).map(([name, part]) => [name, make(part)]))
  return {
    driver,
    models: own(models, ({ id, model: shapes }) => {
      // The memory of its constants stays with the thread that prepared it.
      const model = { ...shapes, pools: [] }
      return driver.adoptModel(new PreparedModel(driver, model, new RemoteModel(connection, model, id)))
    }),
    buffers: own(buffers, ({ id, type, dimensions }) =>
      driver.adoptBuffer(new DeviceBuffer(new RemoteBuffer(connection, id), { operand: { type }, dimensions })),
    ),
  }
}

function checkHandle(handle: object): DriverHandle {
  if (typeof handle === 'object' && handle !== null && (handle as DriverHandle).kind === 'tenon.driver')
    return handle as DriverHandle
  throw wrongType('handle', 'what driver.share() returned', handle)
}

/** Moves the socket to this thread. */
function takeSocket(handle: DriverHandle): number {
  if (!claim(handle))
    throw new PoolsError('DEAD_OBJECT', 'another thread has attached the handle, or its driver was closed', {
      hint: 'Make a handle for each thread, and keep the driver open.',
    })
  try {
    return duplicateDescriptor(handle.socket)
  } finally {
    closeDescriptor(handle.socket)
  }
}
