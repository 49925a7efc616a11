import { findRuntime, runInRuntime, testedRuntimes } from '@tenon/config/runtimes'
import { join } from 'node:path'
import { expect, test } from 'vitest'

for (const runtime of ['node', ...testedRuntimes] as const) {
  const path = runtime === 'node' ? process.execPath : findRuntime(runtime)
  if (path === undefined) continue

  test(`a server answers requests in ${runtime}, and closes after the last`, async () => {
    const { code, signal, stdout, stderr } = await runInRuntime(
      runtime,
      path,
      `
      import { createServer, defineModel } from '@tenon/serve'
      import { tensor } from 'tenon'
      const double = defineModel({
        name: 'double',
        signature: '(x: f32[n]) -> (y: f32[n])',
        run: ({ x }) => tensor('f32', x.shape, x.toArray().map((value) => 2 * value)),
      })
      const server = await createServer({ models: [double], http: { port: 0 } })
      const url = 'http://127.0.0.1:' + server.port + '/v2/models/double/infer'
      const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2], data: [1, 2] }] })
      const replies = await Promise.all(Array.from({ length: 20 }, () => fetch(url, { method: 'POST', body })))
      const answers = new Set()
      for (const reply of replies) answers.add(JSON.stringify((await reply.json()).outputs[0].data))
      await server.closeAsync()
      console.log([...answers].join())
      await fetch(url, { method: 'POST', body }).catch(() => console.log('closed'))
    `,
      join(import.meta.dirname, '..'),
    )
    expect({ code, signal, stdout, stderr }).toEqual({ code: 0, signal: null, stdout: '[2,4]\nclosed\n', stderr: '' })
  })
}
