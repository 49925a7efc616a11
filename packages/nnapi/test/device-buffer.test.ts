import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ScopeClosedError } from '@tenon/core'
import {
  type BuiltModel,
  buildModel,
  type Driver,
  localDriver,
  type PreparedModel,
  operandSlice,
} from '../src/index.ts'
import { createFrozenPool, createImagePool, createPool } from '@tenon/pools'
import { addModel, expectFailure, expectNoLeaks, floats, homes, settled } from './support.ts'

/** A model and what a driver made of it. */
class Prepared {
  readonly model: PreparedModel
  readonly #built: BuiltModel

  private constructor(model: PreparedModel, built: BuiltModel) {
    this.model = model
    this.#built = built
  }

  static async of(driver: Driver, built: BuiltModel): Promise<Prepared> {
    return new Prepared(await driver.prepare(built), built)
  }

  [Symbol.dispose](): void {
    this.model.close()
    this.#built[Symbol.dispose]()
  }
}

describe.each(homes)('device buffers of a driver %s', (_, start) => {
  let driver: Driver
  beforeAll(async () => {
    driver = await start()
  })
  afterAll(() => driver.closeAsync())
  beforeEach(() => settled(driver))

  test('an execution reads the value that the previous one wrote', async () => {
    await expectNoLeaks(async () => {
      using model = addModel([1, 2])
      using prepared = await driver.prepare(model)
      using first = await driver.allocate({ roles: [prepared.input(0), prepared.output(0, { frequency: 0.5 })] })
      using second = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
      using pool = createPool(64)
      pool.write(0, new Float32Array([10, 20]))
      prepared.run({ inputs: [pool.slice(0, 8)], outputs: [first] })
      await prepared.runAsync({ inputs: [first], outputs: [second] })
      prepared.run({ inputs: [second], outputs: [pool.slice(16, 8)] })
      expect(floats(pool.read(16, 8))).toEqual([13, 26])
      await second.copyTo(pool.slice(32, 8))
      expect(floats(pool.read(32, 8))).toEqual([12, 24])
    })
  })

  test('a buffer without a value cannot be read', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64)
    await expectFailure(() => prepared.run({ inputs: [buffer], outputs: [pool.slice(0, 8)] }), 'GENERAL_FAILURE', 'D17')
    await expectFailure(() => buffer.copyTo(pool.slice(0, 8)), 'GENERAL_FAILURE', 'D25')
    await buffer.copyFrom(pool.slice(0, 8))
    prepared.run({ inputs: [buffer], outputs: [pool.slice(0, 8)] })
    expect(floats(pool.read(0, 8))).toEqual([1, 2])
  })

  test('an image is not copied, and the message says that NNAPI leaves this to the driver', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64)
    using image = createImagePool({ width: 2, height: 1, format: 'R8G8B8A8_UNORM' })
    await buffer.copyFrom(pool.slice(0, 8))
    for (const copy of [() => buffer.copyTo(image.whole), () => buffer.copyFrom(image.whole)]) {
      const { sentence } = await expectFailure(copy, 'GENERAL_FAILURE', 'D22')
      expect(sentence).toContain('because NNAPI leaves such copies to the driver')
    }
  })

  test('a failed copy takes the value away', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64)
    for (const size of [4, 16]) {
      await buffer.copyFrom(pool.slice(0, 8))
      await expectFailure(() => buffer.copyFrom(pool.slice(0, size)), 'INVALID_ARGUMENT', 'D23')
      await expectFailure(() => buffer.copyTo(pool.slice(0, 8)), 'GENERAL_FAILURE', 'D25')
    }
  })

  test('the state of a buffer is checked again when the same request is repeated', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64)
    const args = { inputs: [buffer], outputs: [pool.slice(0, 8)] }
    await buffer.copyFrom(pool.slice(16, 8))
    prepared.run(args)
    prepared.run(args)
    await expectFailure(() => buffer.copyFrom(pool.slice(0, 4)), 'INVALID_ARGUMENT', 'D23')
    await expectFailure(() => prepared.run(args), 'GENERAL_FAILURE', 'D17')
  })

  test('dimensions of a copy must be those of the buffer', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 8, { dimensions: [2] }))
    for (const dimensions of [[1, 2], [3], [0]]) {
      await expectFailure(() => buffer.copyFrom(pool.slice(0, 8, { dimensions })), 'INVALID_ARGUMENT', 'D24')
    }
  })

  test('a copy of the wrong size does not change the target', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 8))
    await expectFailure(() => buffer.copyTo(pool.slice(0, 4)), 'INVALID_ARGUMENT', 'D25')
    await expectFailure(() => buffer.copyTo(pool.slice(0, 16)), 'INVALID_ARGUMENT', 'D25')
    using frozen = createFrozenPool(new Uint8Array(8))
    await expectFailure(() => buffer.copyTo(frozen.slice(0) as never), 'INVALID_ARGUMENT', 'P18')
    await buffer.copyTo(pool.slice(0, 8))
  })

  test('roles bind a buffer to its models, and end with them', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using other = await driver.prepare(model)
    using pool = createPool(64)
    const [input, output] = [pool.slice(0, 8), pool.slice(16, 8)]
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    await buffer.copyFrom(input)
    await expectFailure(() => prepared.run({ inputs: [input], outputs: [buffer] }), 'INVALID_ARGUMENT', 'D31')
    await expectFailure(() => other.run({ inputs: [buffer], outputs: [output] }), 'INVALID_ARGUMENT', 'D31')
    prepared.run({ inputs: [buffer], outputs: [output] })
    prepared.close()
    using again = await driver.prepare(model)
    await expectFailure(() => again.run({ inputs: [buffer], outputs: [output] }), 'INVALID_ARGUMENT', 'D31')
    await buffer.copyTo(output)
  })

  test('roles agree in type and shape', async () => {
    const build = (type: 'TENSOR_FLOAT32' | 'TENSOR_INT32', dimensions: readonly number[], scale = 0) =>
      buildModel((g) => {
        const x = g.input(type, dimensions, { scale })
        const shape = g.constant('TENSOR_INT32', [1], [-1])
        g.output(g.operation('RESHAPE', [x, shape], { type, dimensions: [0], scale }))
      })
    using reference = await Prepared.of(driver, build('TENSOR_FLOAT32', [2, 3]))
    using integers = await Prepared.of(driver, build('TENSOR_INT32', [2, 3]))
    using scaled = await Prepared.of(driver, build('TENSOR_INT32', [2, 3], 0.5))
    using larger = await Prepared.of(driver, build('TENSOR_FLOAT32', [2, 4]))
    using flat = await Prepared.of(driver, build('TENSOR_FLOAT32', [6]))
    using open = await Prepared.of(driver, build('TENSOR_FLOAT32', [0, 0]))
    const attempt = (one: Prepared, other: Prepared) => () =>
      driver.allocate({ roles: [one.model.input(0), other.model.input(0)] })
    await expectFailure(attempt(reference, integers), 'INVALID_ARGUMENT', 'D8')
    await expectFailure(attempt(integers, scaled), 'INVALID_ARGUMENT', 'D8')
    await expectFailure(attempt(reference, larger), 'INVALID_ARGUMENT', 'D9')
    await expectFailure(attempt(reference, flat), 'INVALID_ARGUMENT', 'D9')
    await expectFailure(
      () => driver.allocate({ roles: [reference.model.input(0)], dimensions: [2, 4] }),
      'INVALID_ARGUMENT',
      'D9',
    )
    using combined = await attempt(reference, open)()
    expect(combined.dimensions).toEqual([2, 3])
    using scalar = await Prepared.of(
      driver,
      buildModel((g) => {
        const x = g.input('TENSOR_FLOAT32', [2])
        const activation = g.input('INT32', [])
        g.output(g.operation('ADD', [x, x, activation], { type: 'TENSOR_FLOAT32', dimensions: [2] }))
      }),
    )
    await expectFailure(
      () => driver.allocate({ roles: [scalar.model.input(1)], dimensions: [1] }),
      'INVALID_ARGUMENT',
      'D10',
    )
    using number = await driver.allocate({ roles: [scalar.model.input(1)] })
    expect(number.byteSize).toBe(4)
  })

  test('two prepared models of one model have separate roles', async () => {
    using model = addModel([1, 2])
    using first = await driver.prepare(model)
    using second = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [first.output(0), second.input(0), first.input(0)] })
    using pool = createPool(64)
    first.run({ inputs: [pool.slice(0, 8)], outputs: [buffer] })
    second.run({ inputs: [buffer], outputs: [pool.slice(8, 8)] })
    expect(floats(pool.read(8, 8))).toEqual([2, 4])
  })

  test('a buffer cannot be both input and output, nor two outputs', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 8))
    await expectFailure(() => prepared.run({ inputs: [buffer], outputs: [buffer] }), 'INVALID_ARGUMENT', 'D19')
  })

  test('dimensions of the allocation settle the open ones of the roles', async () => {
    using model = addModel([5], [0])
    using prepared = await driver.prepare(model)
    const roles = [prepared.input(0), prepared.output(0)]
    using buffer = await driver.allocate({ roles, dimensions: [3] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 12))
    prepared.run({ inputs: [buffer], outputs: [pool.slice(16, 12)] })
    expect(floats(pool.read(16, 12))).toEqual([5, 5, 5])
  })

  test('a result that does not fit its buffer is refused', async () => {
    using model = addModel([5], [0])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.output(0), prepared.input(0)], dimensions: [3] })
    using pool = createPool(64)
    await buffer.copyFrom(pool.slice(0, 12))
    await expectFailure(
      () => prepared.run({ inputs: [operandSlice(pool, 0, 'TENSOR_FLOAT32', [4])], outputs: [buffer] }),
      'GENERAL_FAILURE',
      'D20',
    )
    await expectFailure(() => buffer.copyTo(pool.slice(0, 12)), 'GENERAL_FAILURE', 'D25')
  })

  test('allocation is checked by the driver', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    await expectFailure(() => driver.allocate({ roles: [] }), 'INVALID_ARGUMENT', 'D1')
    await expectFailure(() => driver.allocate({ roles: [prepared.input(1)] }), 'INVALID_ARGUMENT', 'D5')
    await expectFailure(
      () => driver.allocate({ roles: [prepared.input(0, { frequency: 2 })] }),
      'INVALID_ARGUMENT',
      'D6',
    )
    await expectFailure(
      () => driver.allocate({ roles: [prepared.input(0), prepared.input(0)] }),
      'INVALID_ARGUMENT',
      'D7',
    )
    await using stranger = localDriver()
    using foreign = await stranger.prepare(model)
    await expectFailure(() => driver.allocate({ roles: [foreign.input(0)] }), 'INVALID_ARGUMENT', 'D4')
  })

  test('a buffer of another driver is refused like an unknown buffer', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    await using stranger = await start()
    using foreign = await stranger.prepare(model)
    using buffer = await stranger.allocate({ roles: [foreign.input(0)] })
    using pool = createPool(64)
    await expectFailure(
      () => prepared.run({ inputs: [buffer], outputs: [pool.slice(0, 8)] }),
      'INVALID_ARGUMENT',
      'D31',
    )
  })

  test('a closed buffer cannot be used', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using pool = createPool(64)
    const buffer = await driver.allocate({ roles: [prepared.input(0)] })
    await buffer.copyFrom(pool.slice(0, 8))
    const running = prepared.runAsync({ inputs: [buffer], outputs: [pool.slice(16, 8)] })
    buffer.close()
    await running
    expect(() => prepared.run({ inputs: [buffer], outputs: [pool.slice(16, 8)] })).toThrow(ScopeClosedError)
    await expect(buffer.copyTo(pool.slice(0, 8))).rejects.toThrow(ScopeClosedError)
  })

  test('many readers at once see the same bytes', async () => {
    using model = addModel([1, 2])
    using prepared = await driver.prepare(model)
    using buffer = await driver.allocate({ roles: [prepared.input(0)] })
    using pool = createPool(64 * 32)
    pool.write(0, new Float32Array([5, 6]))
    await buffer.copyFrom(pool.slice(0, 8))
    await Promise.all(
      Array.from({ length: 15 }, (_unused, i) => [
        prepared.runAsync({ inputs: [buffer], outputs: [pool.slice(64 + i * 128, 8)] }),
        buffer.copyTo(pool.slice(128 + i * 128, 8)),
      ]).flat(),
    )
    for (let i = 0; i < 15; i++) {
      expect(floats(pool.read(64 + i * 128, 8))).toEqual([6, 8])
      expect(floats(pool.read(128 + i * 128, 8))).toEqual([5, 6])
    }
  })
})
