import { packageFlags } from '@tenon/config/package-flags'
import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { describe, expect, test } from 'vitest'

/** Runs code in a process that calls through koffi. Returns what it prints. */
async function printed(code: string): Promise<string> {
  const source = `import { Worker } from 'node:worker_threads'
    import { once } from 'node:events'
    import { tensor } from '@tenon/core'
    import { SharedMemory } from '@tenon/pools'
    ${code}`
  const {
    code: exit,
    stdout,
    stderr,
  } = await runScript(source, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { TENON_DRIVER: 'koffi' },
    nodeOptions: [...packageFlags, '--expose-gc', '--no-warnings'],
  })
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  return stdout.trim()
}

describe.runIf(process.platform === 'linux')('shared memory with koffi', () => {
  test('has no SharedArrayBuffer, but other threads can map it', async () => {
    const values = await printed(`
      const memory = SharedMemory.open({ chunk: '1 MiB' })
      const x = tensor('f32', [2], [1, 2], { allocator: memory })
      const handle = memory.handle({ tensors: { x } })
      const worker = new Worker(\`
        import { parentPort, workerData } from 'node:worker_threads'
        import { SharedMemory } from '@tenon/pools'
        const memory = SharedMemory.ofHandle(workerData)
        const x = memory.tensor('x')
        const view = x.view()
        x.set([3, 4])
        memory.close()
        parentPort.postMessage(view.length)\`, { eval: true, workerData: handle })
      const [length] = await once(worker, 'message')
      console.log(handle.chunks[0].shared, x.toArray().join(), length)
      await worker.terminate()
      memory.close()`)
    expect(values).toBe('undefined 3,4 0')
  })

  test('keeps memory with raw views until it is closed, and frees other memory before', async () => {
    const values = await printed(`
      const memory = SharedMemory.open({ chunk: '1 MiB' })
      ;(() => void tensor('f32', [1024], undefined, { allocator: memory }).view())()
      ;(() => void tensor('f32', [1024], undefined, { allocator: memory }))()
      const before = memory.usage.usedBytes
      for (let i = 0; i < 100 && memory.usage.usedBytes !== before / 2; i++) {
        globalThis.gc()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      console.log(memory.usage.usedBytes / before)
      memory.close()`)
    expect(values).toBe('0.5')
  })
})
