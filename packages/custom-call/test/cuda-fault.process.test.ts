import { fileURLToPath } from 'node:url'
import { runScript } from '@tenon/core/testing'
import { expect, test } from 'vitest'
import { cuda, isReal, ptx } from './cuda-fixture.ts'

// Runs in a process of its own, because a real device is lost to the process in which a kernel faults.
test('finished() rejects after a kernel has faulted, and everything can be closed', async () => {
  const open = isReal ? 'Cuda.open()' : `Cuda.open({ library: ${JSON.stringify(cuda.path)} })`
  const script = `
    import { tensor } from '@tenon/core'
    import { Cuda } from '@tenon/custom-call'
    const device = ${open}.openDevice(0)
    const stream = device.openStream()
    const memory = device.allocate(64)
    const module = device.loadModule(${JSON.stringify(ptx)})
    stream.launch(module.kernel('trap'), { grid: [1], block: [1] }, [])
    const outcomes = []
    await stream.finished().catch((error) => outcomes.push(error.name, error.code, error.isFatal))
    const attempt = (action) => { try { action(); return 'done' } catch (error) { return error.code } }
    outcomes.push(attempt(() => device.allocate(64)), attempt(() => stream.copy(tensor('u8', [64]), memory.segment)))
    for (const resource of [module, memory, stream, device]) outcomes.push(attempt(() => resource.close()))
    console.log(JSON.stringify(outcomes))
  `
  const { code, stdout, stderr } = await runScript(script, { cwd: fileURLToPath(new URL('.', import.meta.url)) })
  expect({ code, stderr }).toStrictEqual({ code: 0, stderr: '' })
  const [refused, closed] = ['TENON_CUDA', 'done']
  expect(JSON.parse(stdout)).toStrictEqual([
    ...['CudaError', refused, true],
    ...[refused, refused],
    ...[closed, closed, closed, closed],
  ])
})
