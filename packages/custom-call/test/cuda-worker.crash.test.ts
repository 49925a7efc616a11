import { fileURLToPath } from 'node:url'
import { asScript } from '@tenon/config/as-script'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'

const driver = JSON.stringify(kernelLibrary('simulated_cuda'))

/** Copies to its own memory, which is so large that the system unmaps it as soon as the worker ends. */
const worker = `
  import { parentPort } from 'node:worker_threads'
  import { tensor } from '@tenon/core'
  import { Cuda } from '@tenon/custom-call'
  const device = Cuda.open({ library: ${driver} }).openDevice(0)
  const closed = device.openStream()
  const stream = device.openStream()
  closed.close()
  const memory = device.allocate(1 << 28)
  const host = tensor('u8', [1 << 28])
  stream.copy(memory.segment, host)
  parentPort.postMessage('copying')
  setInterval(() => [stream, host], 1000)
`

if (process.platform === 'linux') {
  test('a terminated worker waits for the copies to its memory', async () => {
    const script = `
      import { once } from 'node:events'
      import { setTimeout } from 'node:timers/promises'
      import { Worker } from 'node:worker_threads'
      import { NativeLibrary } from '@tenon/core'
      import { functionAt } from '@tenon/core/internal'
      const hold = functionAt(Number(NativeLibrary.open(${driver}).symbol('simulated_hold')), 'void', ['int32'])
      hold(1)
      const worker = new Worker(${JSON.stringify(asScript(worker))}, { eval: true })
      await once(worker, 'message')
      const ended = worker.terminate()
      await setTimeout(100)
      hold(0)
      await ended
      await setTimeout(100)
      console.log('ended')
    `
    const cwd = fileURLToPath(new URL('..', import.meta.url))
    const { code, signal, stdout, stderr } = await runScript(script, { cwd, timeout: 60_000 })
    expect({ code, signal, stdout, stderr }).toEqual({ code: 0, signal: null, stdout: 'ended\n', stderr: '' })
  }, 70_000)
}
