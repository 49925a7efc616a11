import { packageEntry } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
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

test('a thread that has closed a driver ends without closing numbers that others use', async () => {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
     import(PACKAGE).then(async ({ spawnDriver }) => {
       await (await spawnDriver()).closeAsync()
       parentPort.postMessage('closed')
       parentPort.once('message', () => {})
     })`.replace('PACKAGE', JSON.stringify(packageEntry(new URL('..', import.meta.url)))),
    { eval: true },
  )
  expect(await once(worker, 'message')).toEqual(['closed'])
  const opened = Array.from({ length: 20 }, () => openSync('/dev/null', 'r'))
  worker.postMessage('end', [])
  await once(worker, 'exit')
  for (const descriptor of opened) closeSync(descriptor)
})
