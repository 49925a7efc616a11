import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ScopeClosedError } from '@tenon/core'
import { buildModel, type Driver, type PreparedModel } from '../src/index.ts'
import { createFrozenPool, createImagePool, createPool, openFilePool, type Pool } from '@tenon/pools'
import { argument } from './request-cases.ts'
import { addModel, expectFailure, expectNoLeaks, floats, hasFiles, homes, settled, useAdder } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-rules-'))
afterAll(() => rmSync(directory, { recursive: true }))
const fileOf = (name: string, byteSize = 4096): string => {
  const path = join(directory, `${name}${Math.random()}`)
  writeFileSync(path, Buffer.alloc(byteSize))
  return path
}

describe.each(homes)('the rules of memory of a driver %s', (_, start) => {
  let driver: Driver
  let prepared: PreparedModel
  useAdder(start, (opened) => ({ driver, prepared } = opened))

  describe('pools', () => {
    test('an image is used as a whole, and its size is that of its pixels', async () => {
      await expectNoLeaks(async () => {
        using image = createImagePool({ width: 2, height: 1, format: 'R8G8B8A8_UNORM' })
        using result = createImagePool({ width: 1, height: 2, format: 'R8G8B8A8_UNORM' })
        using other = createImagePool({ width: 3, height: 1, format: 'R8G8B8A8_UNORM' })
        using pool = createPool(64)
        image.writePixels(new Float32Array([10, 20]))
        prepared.run({ inputs: [image.whole], outputs: [result.whole] })
        expect([floats(result.readRow(0, 0)), floats(result.readRow(0, 1))]).toEqual([[11], [22]])
        await prepared.runAsync({ inputs: [result.whole], outputs: [pool.slice(0, 8)] })
        expect(floats(pool.read(0, 8))).toEqual([12, 24])
        for (const args of [
          { inputs: [other.whole], outputs: [pool.slice(0, 8)] },
          { inputs: [image.whole], outputs: [other.whole] },
        ])
          await expectFailure(() => prepared.run(args), 'GENERAL_FAILURE', 'P11')
        const at = { poolIndex: 0, offset: 0, length: 8, padding: 0 }
        await expectFailure(
          () =>
            prepared.run({
              inputs: [{ hasNoValue: false, location: at, dimensions: [] }],
              outputs: [{ hasNoValue: false, location: { ...at, poolIndex: 1 }, dimensions: [] }],
              pools: [image, pool],
            }),
          'INVALID_ARGUMENT',
          'Q4',
        )
        await expectFailure(
          () => prepared.run({ inputs: [image.whole], outputs: [image.whole] }),
          'INVALID_ARGUMENT',
          'Q10',
        )
      })
      await settled(driver)
    })

    if (hasFiles)
      test('an execution writes its output to the file', async () => {
        const path = fileOf('written')
        using file = openFilePool(path, { access: 'read-write' })
        using pool = createPool(64)
        pool.write(0, new Float32Array([4, 5]))
        prepared.run({ inputs: [pool.slice(0, 8)], outputs: [file.slice(64, 8)] })
        expect(floats(Uint8Array.from(readFileSync(path).subarray(64, 72)))).toEqual([5, 7])
      })

    test('every pool of a request is checked, also a pool that no argument names', async () => {
      const [pool, unused] = [createPool(64), createPool(64)]
      const at = (offset: number) => argument({ location: { offset, length: 8 } })
      const asked = { inputs: [at(0)], outputs: [at(16)], pools: [pool, unused] }
      prepared.run(asked)
      await prepared.runAsync(asked)
      unused.close()
      expect(() => prepared.run(asked)).toThrow(ScopeClosedError)
      await expect(prepared.runAsync(asked)).rejects.toThrow(ScopeClosedError)
      pool.close()
    })

    test('each cause has its status', async () => {
      using pool = createPool(64)
      const output = [pool.slice(16, 8)]
      if (hasFiles) {
        const path = fileOf('cut', 8192)
        using file = openFilePool(path)
        truncateSync(path, 10)
        await expectFailure(
          () => prepared.run({ inputs: [file.slice(4096, 8)], outputs: output }),
          'GENERAL_FAILURE',
          'P15',
        )
      }
      await expectFailure(() => prepared.run({ inputs: [pool.slice(0, 4)], outputs: output }), 'INVALID_ARGUMENT')
      await expectFailure(
        () => prepared.runAsync({ inputs: [pool.slice(0, 8)], outputs: output }, { deadline: 0 }),
        'MISSED_DEADLINE_PERSISTENT',
      )
      using other = addModel([1])
      const gone = await start()
      using lost = await gone.prepare(other)
      await gone.closeAsync()
      await expectFailure(() => gone.prepare(other), 'DEAD_OBJECT')
      expect(lost.isAlive).toBe(false)
    })
  })

  describe('device buffers', () => {
    test('an offset or length of a device buffer is refused', async () => {
      using buffer = await driver.allocate({ roles: [prepared.input(0)] })
      using pool = createPool(64)
      await buffer.copyFrom(pool.slice(0, 8))
      const { facts } = buffer
      for (const wrong of [{ offset: 1 }, { length: 8 }, { padding: 1 }]) {
        const location = { poolIndex: 0, offset: 0, length: 0, padding: 0, ...wrong }
        const asked = {
          inputs: [{ hasNoValue: false, location, dimensions: [] }],
          outputs: [argument({ location: { poolIndex: 1, length: 8 } })],
          pools: [facts as unknown as Pool, pool],
        }
        await expectFailure(() => prepared.run(asked), 'INVALID_ARGUMENT', 'Q4')
      }
    })

    test('device buffers are copied from and to linear memory, and not images', async () => {
      await expectNoLeaks(async () => {
        using buffer = await driver.allocate({ roles: [prepared.input(0)] })
        using shared = createPool(64)
        using blob = createPool(64, { kind: 'device-blob' })
        using file = hasFiles ? openFilePool(fileOf('copies'), { access: 'read-write' }) : createPool(64)
        using frozen = createFrozenPool(new Float32Array([7, 8]))
        for (const pool of [shared, blob, file]) {
          pool.write(0, new Float32Array([3, 4]))
          await buffer.copyFrom(pool.slice(0, 8))
          await buffer.copyTo(pool.slice(32, 8))
          expect(floats(pool.read(32, 8))).toEqual([3, 4])
        }
        await buffer.copyFrom(frozen.slice(0, 8))
        await buffer.copyTo(shared.slice(0, 8))
        expect(floats(shared.read(0, 8))).toEqual([7, 8])
        using image = createImagePool({ width: 8, height: 1, format: 'R8_UNORM' })
        await expectFailure(() => buffer.copyTo(image.whole), 'GENERAL_FAILURE', 'D22')
        await expectFailure(() => buffer.copyFrom(image.whole), 'GENERAL_FAILURE', 'D22')
        await expectFailure(() => buffer.copyTo(shared.slice(0, 8)), 'GENERAL_FAILURE', 'D25')
      })
      await settled(driver)
    })

    test('a device buffer is copied to another', async () => {
      await expectNoLeaks(async () => {
        const roles = [prepared.input(0)]
        using from = await driver.allocate({ roles })
        using to = await driver.allocate({ roles })
        using pool = createPool(64)
        pool.write(0, new Float32Array([5, 6]))
        await to.copyFrom(pool.slice(0, 8))
        await to.copyFrom(to)
        await to.copyTo(pool.slice(8, 8))
        // From one without a value: the other has none then.
        await expectFailure(() => to.copyFrom(from), 'GENERAL_FAILURE', 'D25')
        await expectFailure(() => to.copyTo(pool.slice(8, 8)), 'GENERAL_FAILURE', 'D25')
        await from.copyFrom(pool.slice(0, 8))
        await to.copyFrom(from)
        await to.copyTo(pool.slice(16, 8))
        expect(floats(pool.read(16, 8))).toEqual([5, 6])
        using three = addModel([1, 2, 3])
        using larger = await driver.prepare(three)
        using other = await driver.allocate({ roles: [larger.input(0)] })
        await expectFailure(() => other.copyFrom(from), 'INVALID_ARGUMENT')
      })
      await settled(driver)
    })

    test('concurrent readers and writers all get an answer', async () => {
      using one = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
      using two = await driver.allocate({ roles: [prepared.input(0), prepared.output(0)] })
      using pool = createPool(4096)
      await one.copyFrom(pool.slice(0, 8))
      await two.copyFrom(pool.slice(0, 8))
      for (let round = 0; round < 20; round++) {
        const outcomes = await Promise.allSettled([
          prepared.runAsync({ inputs: [one], outputs: [two] }),
          prepared.runAsync({ inputs: [two], outputs: [one] }),
          one.copyFrom(pool.slice(8, 8)),
          two.copyTo(pool.slice(64, 8)),
          one.copyFrom(pool.slice(8, 4)),
          prepared.runAsync({ inputs: [one], outputs: [pool.slice(128, 8)] }),
        ])
        expect(outcomes.length).toBe(6)
        for (const outcome of outcomes)
          if (outcome.status === 'rejected')
            expect(['GENERAL_FAILURE', 'INVALID_ARGUMENT']).toContain((outcome.reason as { status: string }).status)
        await one.copyFrom(pool.slice(0, 8))
        await two.copyFrom(pool.slice(0, 8))
      }
    })

    test('illegal use of a device buffer does not change its value or the outputs', async () => {
      using model3 = buildModel((g) => {
        const x = g.input('TENSOR_FLOAT32', [2])
        const y = g.input('TENSOR_FLOAT32', [2])
        g.output(g.operation('ADD', [x, y, g.scalar('INT32', 0)], { type: 'TENSOR_FLOAT32', dimensions: [2] }))
      })
      using both = await driver.prepare(model3)
      using good = await driver.allocate({ roles: [both.input(0)] })
      using empty = await driver.allocate({ roles: [both.input(1)] })
      using pool = createPool(64)
      pool.write(0, new Uint8Array(64).fill(3))
      await good.copyFrom(pool.slice(0, 8))
      await expectFailure(
        () => both.run({ inputs: [good, empty], outputs: [pool.slice(32, 8)] }),
        'GENERAL_FAILURE',
        'D17',
      )
      await expectFailure(
        () => both.run({ inputs: [empty, good], outputs: [pool.slice(32, 8)] }),
        'INVALID_ARGUMENT',
        'D31',
      )
      expect(new Set(pool.read(0))).toEqual(new Set([3]))
      await good.copyTo(pool.slice(0, 8))
    })
  })
})
