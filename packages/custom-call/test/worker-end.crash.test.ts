import { fileURLToPath } from 'node:url'
import { asScript } from '@tenon/config/as-script'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'

/** The number of workers that are terminated. */
const ROUNDS = process.env['TENON_SOAK'] === '1' ? 300 : 30

/** Makes calls without end, in a worker. */
const worker = `
  import { parentPort } from 'node:worker_threads'
  import { NativeLibrary, tensor } from '@tenon/core'
  import { s32, typedHandler } from '@tenon/custom-call'
  const library = NativeLibrary.open(${JSON.stringify(kernelLibrary('kernels'))})
  const operands = [1, 2, 3].map((value) => tensor('f32', [1], [value]))
  const attrs = { w0: s32(1), w1: s32(2), w2: s32(3), w3: s32(4) }
  const result = () => tensor('f32', [1])
  const call = typedHandler(library, 'weighted_sum').prepare({ operands, results: [result()], attrs })
  const forever = async () => { for (;;) await call.runAsync(operands, [result()]) }
  for (let i = 0; i < 32; i++) void forever()
  parentPort.postMessage('running')
`

if (process.platform !== 'win32') {
  test(
    'a worker can be terminated while its calls run, at any moment',
    async () => {
      const script = `
      import { once } from 'node:events'
      import { setTimeout } from 'node:timers/promises'
      import { Worker } from 'node:worker_threads'
      for (let i = 0; i < ${ROUNDS}; i++) {
        const worker = new Worker(${JSON.stringify(asScript(worker))}, { eval: true })
        await once(worker, 'message')
        await setTimeout(i % 10)
        await worker.terminate()
      }
      console.log('all ended')
    `
      const cwd = fileURLToPath(new URL('..', import.meta.url))
      const { code, signal, stdout, stderr } = await runScript(script, { cwd, timeout: 60_000 + 1000 * ROUNDS })
      expect({ code, signal, stdout, stderr }).toEqual({ code: 0, signal: null, stdout: 'all ended\n', stderr: '' })
    },
    70_000 + 1000 * ROUNDS,
  )
}
