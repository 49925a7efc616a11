import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encode } from '@msgpack/msgpack'
import { tensor, KernelDeadlineError } from '@tenon/core'
import { CONSTANTS, type RemoteKernel } from '@tenon/core/internal'
import { afterAll, expect, test } from 'vitest'
import { KernelCrashError, KernelMemoryError } from '../src/host/errors.ts'
import type { WorkerCall } from '../src/host/worker-call.ts'
import { Workers } from '../src/host/workers.ts'
import { SharedMemory } from '@tenon/pools'
import { operandOf, ReportedError } from './faulty.ts'
import { failureOf, usage } from './support.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-script-'))
const path = join(directory, 'kernels.mjs')
writeFileSync(
  path,
  `import { Worker } from 'node:worker_threads'
  export const double = ([x], [y]) => y.set(x.toArray().map((value) => 2 * value))
  export const fail = () => { throw new RangeError('failed on purpose') }
  export const exit = () => process.exit(3)
  export const spin = () => { for (;;); }
  export const eat = () => { const kept = []; for (;;) kept.push(new Uint8Array(1 << 20).fill(1)) }
  export const flood = () => {
    const write = "for (const fs = require('node:fs'), bytes = Buffer.alloc(1 << 16);;) try { fs.writeSync(4, bytes) } catch {}"
    new Worker(write, { eval: true })
  }
  export const print = ([x], [y]) => { console.log('printed'); throw new Error('after the output') }
  `,
)
afterAll(() => rmSync(directory, { recursive: true }))

const restart = { limit: Infinity, backoff: 0 }
const memory = SharedMemory.open({ label: 'script' })

function callOf(name: string, options: Partial<WorkerCall<number[]>> = {}): WorkerCall<number[]> {
  const x = tensor('f32', [2], [1, 2], { allocator: memory })
  const y = tensor('f32', [2], undefined, { allocator: memory })
  const kernel: RemoteKernel = {
    name,
    library: path,
    convention: CONSTANTS.TN_HOST_SCRIPT,
    symbols: ['', '', '', name],
    operands: 1,
    results: 1,
    descriptor: encode({ operands: [['float32', [2]]], results: [['float32', [2]]], attributes: {} }),
  }
  return {
    kernel,
    operands: [operandOf(x, false), operandOf(y, true)],
    gated: [x.block, y.block],
    read: () => y.toArray(),
    failure: (answer, details) => new ReportedError(answer, details),
    ...options,
  }
}

test('kernels of a module run in a worker in Node.js, and what they do is an error', async () => {
  const before = usage()
  {
    await using workers = await Workers.open({ host: 'node', restart })
    expect(workers.run(callOf('double'))).toEqual([2, 4])
    expect(await workers.runAsync(callOf('double'))).toEqual([2, 4])
    const failed = (await failureOf(workers.runAsync(callOf('fail')))).answer
    expect(failed.error).toBe(CONSTANTS.TN_HOST_SCRIPT_ERROR)
    const crash = await failureOf(() => workers.run(callOf('exit')))
    expect(crash).toBeInstanceOf(KernelCrashError)
    expect(crash.details).toMatchObject({ exitCode: 3, kernel: 'exit' })
    expect(await failureOf(workers.runAsync(callOf('spin', { deadline: 50 })))).toBeInstanceOf(KernelDeadlineError)
    expect((await failureOf(workers.runAsync(callOf('print')))).details.output).toBe('printed\n')
    expect(workers.run(callOf('double'))).toEqual([2, 4])
  }
  expect({ ...usage(), descriptors: 0 }).toEqual({ ...before, descriptors: 0 })
})

test.each(['run', 'runAsync'] as const)('a worker in Node.js above its memory is ended: %s', async (form) => {
  await using workers = await Workers.open({ host: 'node', memory: '300 MiB', restart, idempotent: true })
  const error = await failureOf(async () => workers[form](callOf('eat')))
  expect(error).toBeInstanceOf(KernelMemoryError)
  expect(error.details).toMatchObject({ limit: 300 * 2 ** 20, source: 'watch', kernel: 'eat' })
  expect(error.details.used).toBeGreaterThan(300 * 2 ** 20)
  expect(workers.metrics().retries).toBe(0)
  expect(await workers[form](callOf('double'))).toEqual([2, 4])
})

test('a worker that rings without end is ended, and the event loop goes on', async () => {
  await using workers = await Workers.open({ host: 'node', restart })
  const { process } = workers.health().workers[0]!
  await workers.runAsync(callOf('flood'))
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  await expect.poll(() => workers.health().workers[0]!.process).not.toBe(process)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
  expect(await workers.runAsync(callOf('double'))).toEqual([2, 4])
})
