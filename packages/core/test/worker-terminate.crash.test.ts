import { fileURLToPath } from 'node:url'
import { asScript } from '@tenon/config/as-script'
import { expect, test } from 'vitest'
import { runScript } from '@tenon/core/testing'

/** The number of workers that are terminated. */
const ROUNDS = process.env['TENON_SOAK'] === '1' ? 300 : 20

/** koffi cannot be made to survive this, so the fallback is not tested. */
test('a worker can be terminated while it loads the core', { timeout: 60_000 + 1000 * ROUNDS }, async () => {
  const source = `
    import { parentPort } from 'node:worker_threads'
    import { driverInfo, NativeLibrary } from '@tenon/core'
    import { libraryFunctions } from '@tenon/core/internal'
    parentPort.postMessage('loading')
    driverInfo()
    libraryFunctions('tenon_nnapi')
    NativeLibrary.open('libm.so.6')
    setInterval(() => {}, 1000)
  `
  const script = `
    import { once } from 'node:events'
    import { setTimeout } from 'node:timers/promises'
    import { Worker } from 'node:worker_threads'
    for (let i = 0; i < ${ROUNDS}; i++) {
      const worker = new Worker(${JSON.stringify(asScript(source))}, { eval: true })
      await once(worker, 'message')
      await setTimeout(Math.random() * 10)
      await worker.terminate()
    }
    console.log('all ended')
  `
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const { code, signal, timedOut, stdout } = await runScript(script, {
    cwd,
    env: { TENON_DRIVER: 'node-api' },
    timeout: 50_000 + 1000 * ROUNDS,
  })
  expect({ code, signal, timedOut, stdout }).toEqual({ code: 0, signal: null, timedOut: false, stdout: 'all ended\n' })
})
