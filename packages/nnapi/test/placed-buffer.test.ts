import { describe, expect, test } from 'vitest'
import { createPool } from '@tenon/pools'
import {
  type BuiltModel,
  buildModel,
  cpuKernels,
  type Kernel,
  type KernelOperand,
  localDriver,
  type PlacedBuffer,
} from '../src/index.ts'
import { addModel, expectFailure, floats } from './support.ts'

/** A buffer in memory of a device, which notes its calls. */
class OnDevice implements PlacedBuffer {
  readonly calls: string[] = []
  memory: Uint8Array

  constructor(byteSize: number) {
    this.memory = new Uint8Array(byteSize)
  }

  copyFrom(source: Uint8Array): void {
    this.calls.push(`copyFrom ${source.length}`)
    this.memory.set(source)
  }

  copyTo(target: Uint8Array): void {
    this.calls.push(`copyTo ${target.length}`)
    target.set(this.memory)
  }

  close(): void {
    this.calls.push('close')
  }
}

class Growing extends OnDevice {
  resize(byteSize: number): void {
    this.calls.push(`resize ${byteSize}`)
    this.memory = new Uint8Array(byteSize)
  }
}

/** Doubles floats, on the device where both values are there. */
const double: Kernel = {
  plan: ([x]) => ({
    dimensions: [x!.dimensions],
    run: ([from], [to]) => twice(from!, to!),
    runPlaced: ([from], [to]) => {
      ;(to instanceof OnDevice ? to.calls : []).push('run')
      twice(bytesOf(from!), bytesOf(to!))
    },
  }),
}

const bytesOf = (value: Uint8Array | PlacedBuffer): Uint8Array =>
  (value instanceof OnDevice ? value.memory : value) as Uint8Array

function twice(from: Uint8Array, to: Uint8Array): void {
  const values = new Float32Array(from.slice().buffer).map((value) => value * 2)
  to.set(new Uint8Array(values.buffer))
}

const kernels = new Map([...cpuKernels, ['DOUBLE', double]])

const doubleModel = (dimensions: readonly number[]): BuiltModel =>
  buildModel((g) => {
    const x = g.input('TENSOR_FLOAT32', dimensions)
    g.output(g.operation('DOUBLE', [x], { type: 'TENSOR_FLOAT32', dimensions }))
  })

describe('buffers that the author of a driver places', () => {
  test('are made for the operand and size of their values, and copied and closed by their hooks', async () => {
    const asked: [KernelOperand, number][] = []
    const made: OnDevice[] = []
    const driver = localDriver({
      allocate(operand, byteSize) {
        asked.push([operand, byteSize])
        made.push(new OnDevice(byteSize))
        return made.at(-1)
      },
    })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    expect(asked).toMatchObject([[{ type: 'TENSOR_FLOAT32', dimensions: [2], scale: 0, zeroPoint: 0 }, 8]])
    using pool = createPool(64)
    pool.write(0, new Float32Array([3, 4]))
    await buffer.copyFrom(pool.slice(0, 8))
    await buffer.copyTo(pool.slice(8, 8))
    expect(floats(pool.read(8, 8))).toEqual([3, 4])
    buffer.close()
    expect(made[0]!.calls).toEqual(['copyFrom 8', 'copyTo 8', 'close'])
    await driver.closeAsync()
    expect(made[0]!.calls.length).toBe(3)
  })

  test('are copied around operations that know nothing of them', async () => {
    const made: OnDevice[] = []
    const driver = localDriver({ allocate: (_, byteSize) => made[made.push(new OnDevice(byteSize)) - 1] })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0), prepared.output(0)]
    const [x, y] = [await driver.allocate({ roles }), await driver.allocate({ roles })]
    using pool = createPool(64)
    pool.write(0, new Float32Array([3, 4]))
    prepared.run({ inputs: [pool.slice(0, 8)], outputs: [x] })
    await prepared.runAsync({ inputs: [x], outputs: [y] })
    prepared.run({ inputs: [y], outputs: [pool.slice(8, 8)] })
    expect(floats(pool.read(8, 8))).toEqual([6, 10])
    expect(made.map(({ calls }) => calls)).toEqual([
      ['copyFrom 8', 'copyTo 8'],
      ['copyFrom 8', 'copyTo 8'],
    ])
    await driver.closeAsync()
    expect(made.map(({ calls }) => calls.at(-1))).toEqual(['close', 'close'])
  })

  test('of a known size get room before their first value, and no more', async () => {
    const made: Growing[] = []
    const driver = localDriver({ allocate: () => made[made.push(new Growing(0)) - 1] })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0), prepared.output(0)]
    using pool = createPool(64)
    pool.write(0, new Float32Array([3, 4]))
    using x = await driver.allocate({ roles })
    await x.copyFrom(pool.slice(0, 8))
    await x.copyFrom(pool.slice(0, 8))
    await x.copyTo(pool.slice(8, 8))
    expect(floats(pool.read(8, 8))).toEqual([3, 4])
    expect(made[0]!.calls).toEqual(['resize 8', 'copyFrom 8', 'copyFrom 8', 'copyTo 8'])
    await driver.closeAsync()
  })

  test('are passed to operations that use them, and never copied', async () => {
    const made: OnDevice[] = []
    const driver = localDriver({ kernels, allocate: (_, byteSize) => made[made.push(new Growing(byteSize)) - 1] })
    using model = doubleModel([0])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0), prepared.output(0)]
    const [x, y] = [await driver.allocate({ roles }), await driver.allocate({ roles })]
    using pool = createPool(64)
    pool.write(0, new Float32Array([3, 4, 5]))
    prepared.run({ inputs: [pool.slice(0, 12, { dimensions: [3] })], outputs: [x] })
    prepared.run({ inputs: [x], outputs: [y] })
    prepared.run({ inputs: [x], outputs: [y] })
    expect(await y.shape()).toEqual([3])
    await y.copyTo(pool.slice(16, 12))
    expect(floats(pool.read(16, 12))).toEqual([12, 16, 20])
    expect(made.map(({ calls }) => calls)).toEqual([
      ['resize 12', 'run'],
      ['resize 12', 'run', 'run', 'copyTo 12'],
    ])
    await driver.closeAsync()
  })

  test('of which an operation before or after knows nothing are copied once', async () => {
    const made: OnDevice[] = []
    const driver = localDriver({ kernels, allocate: (_, byteSize) => made[made.push(new OnDevice(byteSize)) - 1] })
    using model = buildModel((g) => {
      const type = { type: 'TENSOR_FLOAT32', dimensions: [2] } as const
      const x = g.input('TENSOR_FLOAT32', [2])
      g.output(g.operation('DOUBLE', [x], type))
      g.output(g.operation('RELU', [x], type))
    })
    using prepared = await driver.prepare(model)
    const x = await driver.allocate({ roles: [prepared.input(0)] })
    const y = await driver.allocate({ roles: [prepared.output(0)] })
    using pool = createPool(64)
    pool.write(0, new Float32Array([3, -4]))
    await x.copyFrom(pool.slice(0, 8))
    prepared.run({ inputs: [x], outputs: [y, pool.slice(8, 8)] })
    await y.copyTo(pool.slice(16, 8))
    expect(floats(pool.read(8, 16))).toEqual([3, 0, 6, -8])
    // RELU needs the bytes of x, and DOUBLE uses y in its place.
    expect(made.map(({ calls }) => calls)).toEqual([
      ['copyFrom 8', 'copyTo 8'],
      ['run', 'copyTo 8'],
    ])
    await driver.closeAsync()
  })

  test('are in memory of the driver where the hook returns none', async () => {
    const driver = localDriver({ allocate: () => undefined })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const buffer = await driver.allocate({ roles: [prepared.output(0), prepared.input(0)] })
    using pool = createPool(64)
    prepared.run({ inputs: [pool.slice(0, 8)], outputs: [buffer] })
    await buffer.copyTo(pool.slice(8, 8))
    expect(floats(pool.read(8, 8))).toEqual([1, 2])
    await driver.closeAsync()
  })

  test('of open size are refused and closed if they cannot be resized', async () => {
    const made: OnDevice[] = []
    const driver = localDriver({ kernels, allocate: (_, byteSize) => made[made.push(new OnDevice(byteSize)) - 1] })
    using model = doubleModel([0])
    using prepared = await driver.prepare(model)
    await expectFailure(() => driver.allocate({ roles: [prepared.input(0)] }), 'GENERAL_FAILURE', 'D11')
    expect(made[0]!.calls).toEqual(['close'])
    await driver.closeAsync()
  })

  test('count as bytes of the client, whatever their hooks do', async () => {
    let hasFailed = false
    const driver = localDriver({
      limits: { bufferBytes: 16 },
      allocate(_, byteSize) {
        if (hasFailed) return new OnDevice(byteSize)
        hasFailed = true
        throw new RangeError('the device has no memory')
      },
    })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0)]
    await expect(driver.allocate({ roles })).rejects.toThrow('the device has no memory')
    const buffers = [await driver.allocate({ roles }), await driver.allocate({ roles })]
    await expectFailure(() => driver.allocate({ roles }), 'RESOURCE_EXHAUSTED_TRANSIENT')
    for (const buffer of buffers) buffer.close()
    const again = await driver.allocate({ roles })
    again.close()
    await driver.closeAsync()
  })

  test('that grow beyond the limit hold no value, and are not resized', async () => {
    const made: Growing[] = []
    const driver = localDriver({
      kernels,
      limits: { bufferBytes: 16 },
      allocate: (_, byteSize) => made[made.push(new Growing(byteSize)) - 1],
    })
    using model = doubleModel([0])
    using prepared = await driver.prepare(model)
    const buffer = await driver.allocate({ roles: [prepared.output(0)] })
    using pool = createPool(64)
    for (const count of [4, 2, 3])
      prepared.run({ inputs: [pool.slice(0, 4 * count, { dimensions: [count] })], outputs: [buffer] })
    await expectFailure(
      () => prepared.run({ inputs: [pool.slice(0, 20, { dimensions: [5] })], outputs: [buffer] }),
      'RESOURCE_EXHAUSTED_TRANSIENT',
    )
    expect(await buffer.shape()).toBeUndefined()
    expect(made[0]!.calls).toEqual(['resize 16', 'run', 'resize 8', 'run', 'resize 12', 'run'])
    await driver.closeAsync()
  })

  test('hold no value after a hook or an operation has thrown', async () => {
    let isBroken = false
    class Breaking extends OnDevice {
      override copyFrom(source: Uint8Array): void {
        if (isBroken) throw new RangeError('the bus is down')
        super.copyFrom(source)
      }
    }
    const failing: Kernel = {
      plan: ([x]) => ({
        dimensions: [x!.dimensions],
        runPlaced: () => {
          if (isBroken) throw new RangeError('the device is lost')
        },
      }),
    }
    const driver = localDriver({
      kernels: new Map([['DOUBLE', failing]]),
      allocate: (_, byteSize) => new Breaking(byteSize),
    })
    using model = doubleModel([2])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0), prepared.output(0)]
    const [x, y] = [await driver.allocate({ roles }), await driver.allocate({ roles })]
    using pool = createPool(64)
    for (const [breaks, shapes] of [
      [false, [[2], [2]]],
      [true, [undefined, undefined]],
    ] as const) {
      isBroken = false
      await x.copyFrom(pool.slice(0, 8))
      isBroken = breaks
      const results = await Promise.allSettled([
        (async () => prepared.run({ inputs: [x], outputs: [y] }))(),
        x.copyFrom(pool.slice(0, 8)),
      ])
      expect(results.map(({ status }) => status)).toEqual(
        breaks ? ['rejected', 'rejected'] : ['fulfilled', 'fulfilled'],
      )
      expect([await x.shape(), await y.shape()]).toEqual(shapes)
    }
    await driver.closeAsync()
  })

  test('are closed once, after the last execution that uses them', async () => {
    const made: OnDevice[] = []
    const driver = localDriver({ allocate: (_, byteSize) => made[made.push(new OnDevice(byteSize)) - 1] })
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    const buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 8))
    const execution = await prepared.runFencedAsync({ inputs: [buffer], outputs: [pool.slice(8, 8)] })
    buffer.close()
    expect(made[0]!.calls).toEqual(['copyFrom 8'])
    await execution.fence.waitAsync()
    await execution.info
    execution.fence.close()
    expect(made[0]!.calls).toEqual(['copyFrom 8', 'copyTo 8', 'close'])
    await driver.closeAsync()
  })

  test('have to be placed by a function', () => {
    expect(() => localDriver({ allocate: 1 as never })).toThrow(
      'allocate must be a function that places a device buffer',
    )
  })
})
