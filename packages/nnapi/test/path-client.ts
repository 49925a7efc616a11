import { buildModel, type BuiltModel, connectDriver, type Driver, type PreparedModel } from '../src/index.ts'
import { createPool, type Pool } from '@tenon/pools'
import type { Server } from './server.ts'

/** The type of a vector. */
export const vector = (size: number) => ({ type: 'TENSOR_FLOAT32', dimensions: [size] }) as const

/** A model of one operation from a vector to a vector. */
export const unary = (operation: string, size = 1): BuiltModel =>
  buildModel((g) => g.output(g.operation(operation, [g.input('TENSOR_FLOAT32', [size])], vector(size))))

/** A client with a model, and memory for many executions of it. */
export class PathClient {
  readonly driver: Driver
  readonly prepared: PreparedModel
  readonly pool: Pool<'writable'> = createPool(8192)
  /** The executions that have ended. */
  done = 0

  private constructor(driver: Driver, prepared: PreparedModel) {
    this.driver = driver
    this.prepared = prepared
  }

  static async connect(server: Server, operation: string): Promise<PathClient> {
    const driver = await connectDriver(server.path)
    using model = unary(operation)
    return new PathClient(driver, await driver.prepare(model))
  }

  /** Runs the operation on a number. */
  async run(input: number, options: Parameters<PreparedModel['runAsync']>[1] = {}, place = 0): Promise<void> {
    const at = place * 16
    this.pool.write(at, new Float32Array([input]))
    await this.prepared.runAsync({ inputs: [this.pool.slice(at, 4)], outputs: [this.pool.slice(at + 8, 4)] }, options)
    this.done++
  }

  async close(): Promise<void> {
    await this.driver.closeAsync()
    this.pool.close()
  }
}
