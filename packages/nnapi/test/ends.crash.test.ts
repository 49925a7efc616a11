import { packageEntry } from '@tenon/config/package-flags'
import { eventually } from '@tenon/config/eventually'
import { runScript } from '@tenon/core/testing'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const cwd = fileURLToPath(new URL('..', import.meta.url))

test('a process with an open driver and open pools ends by itself', async () => {
  const source = `
    import { spawnDriver } from '@tenon/nnapi'
    import { createPool } from '@tenon/pools'
    const driver = await spawnDriver()
    const pool = createPool(64)
    console.log('end')
  `
  const { code, stdout, timedOut } = await runScript(source, { cwd, nodeOptions: ['--expose-gc'] })
  expect({ code, stdout: stdout.trim(), timedOut }).toEqual({ code: 0, stdout: 'end', timedOut: false })
})

/** Starts a thread that runs code with the exports of this package. */
const startThread = (code: string): Worker =>
  new Worker(
    `const { parentPort } = require('node:worker_threads')
     import(${JSON.stringify(packageEntry(new URL('..', import.meta.url)))}).then(async (nnapi) => { ${code} })`,
    { eval: true },
  )

test('a thread that has closed a driver ends without closing numbers that others use', async () => {
  const worker = startThread(`
    await (await nnapi.spawnDriver()).closeAsync()
    parentPort.postMessage('closed')
    parentPort.once('message', () => {})`)
  expect(await once(worker, 'message')).toEqual(['closed'])
  const opened = Array.from({ length: 20 }, () => openSync('/dev/null', 'r'))
  worker.postMessage('end', [])
  await once(worker, 'exit')
  for (const descriptor of opened) closeSync(descriptor)
})

test.runIf(process.platform === 'linux')('a thread that is terminated leaves no fence open', async () => {
  const openFiles = (): number => readdirSync('/proc/self/fd').length
  const run = async (loop: string): Promise<void> => {
    const worker = startThread(`parentPort.postMessage('ready'); ${loop}`)
    await once(worker, 'message')
    await sleep(Math.random() * 50)
    await worker.terminate()
  }
  // The process keeps some descriptors after its first thread.
  await run('')
  const before = openFiles()
  for (let i = 0; i < 8; i++) {
    await run(`for (;;) {
      const source = nnapi.createFence()
      nnapi.importFence(source.fence.descriptor).close()
      source.fence.close()
      source.close()
    }`)
  }
  await eventually(() => expect(openFiles()).toBe(before))
})
