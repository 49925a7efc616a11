import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { connectDriver } from '../src/index.ts'
import { createPool, openFilePool, type Pool } from '@tenon/pools'
import { Server } from './server.ts'
import { addModel, expectFailure, floats } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-descriptors-'))
afterAll(() => rmSync(directory, { recursive: true }))

test('many pools of memory need no descriptors of a driver', async () => {
  await using small = await Server.start({ pools: 100_000 }, { openFiles: 64 })
  await using honest = await connectDriver(small.path)
  using model = addModel([1, 2])
  using prepared = await honest.prepare(model)
  {
    await using greedy = await connectDriver(small.path)
    using own = await greedy.prepare(model)
    // A pool costs a driver a mapping, and no descriptor.
    const pools = Array.from({ length: 1000 }, () => createPool(4096))
    for (const pool of pools) own.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
    expect(small.holdings().descriptors).toBeLessThan(64 * small.processes.length)
    expect(small.holdings().mappings).toBeGreaterThanOrEqual(1000)
    using pool = createPool(64)
    prepared.run({ inputs: [pool.slice(0, 8)], outputs: [pool.slice(8, 8)] })
    expect(floats(pool.read(8, 8))).toEqual([1, 2])
    for (const one of pools) one.close()
  }
  prepared.close()
  await honest.closeAsync()
  await small.isIdle()
})

test('pools of files get at most a quarter of the descriptors of a driver, and are refused without harm to others', async () => {
  const path = join(directory, 'pool')
  writeFileSync(path, new Float32Array([1, 2]))
  await using small = await Server.start({ pools: 1000 }, { openFiles: 64 })
  await using honest = await connectDriver(small.path)
  using model = addModel([1, 2])
  using prepared = await honest.prepare(model)
  using output = createPool(64)
  {
    await using greedy = await connectDriver(small.path)
    using own = await greedy.prepare(model)
    const run = (file: Pool) => own.run({ inputs: [file.slice(0, 8)], outputs: [output.slice(0, 8)] })
    const files = Array.from({ length: 17 }, () => openFilePool(path))
    for (const file of files.slice(0, 16)) run(file)
    await expectFailure(() => run(files[16]!), 'RESOURCE_EXHAUSTED_TRANSIENT')
    expect(small.holdings().descriptors).toBeLessThan(64 * small.processes.length)
    prepared.run({ inputs: [output.slice(0, 8)], outputs: [output.slice(8, 8)] })
    expect(floats(output.read(8, 8))).toEqual([3, 6])
    for (const file of files) file.close()
    using file = openFilePool(path)
    run(file)
  }
  prepared.close()
  await honest.closeAsync()
  await small.isIdle()
})
