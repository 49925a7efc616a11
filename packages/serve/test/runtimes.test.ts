import { findRuntime, runInRuntime, testedRuntimes } from '@tenon/config/runtimes'
import { kernelLibrary } from '@tenon/kernels'
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

  if (process.platform !== 'linux') continue

  test(
    `a server under load in ${runtime} answers or ends each request, and leaves no descriptor and no process`,
    { timeout: 310_000 },
    async () => {
      const { code, signal, stdout, stderr } = await runInRuntime(
        runtime,
        path,
        `
      import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
      import { setTimeout } from 'node:timers/promises'
      import { createServer, defineModel } from '@tenon/serve'
      import { Library } from 'tenon'

      const children = () => readdirSync('/proc/self/task').flatMap((task) => {
        try { return readFileSync('/proc/self/task/' + task + '/children', 'utf8').split(' ').filter(Boolean) } catch { return [] }
      }).length
      // Results have memory of their library until they are collected, which is later in Bun.
      const isOfResults = (name) => {
        try { return readlinkSync('/proc/self/fd/' + name).includes('isolated calls') } catch { return true }
      }
      const descriptors = () => readdirSync('/proc/self/fd').filter((name) => !isOfResults(name)).length

      const [WAVES, WIDTH] = [12, 50]
      /** Opens workers and a server, sends waves of requests, of which each tenth is given up, and closes both. */
      async function round() {
        const library = await Library.isolate(${JSON.stringify(kernelLibrary('softmax'))}, { workers: 2 })
        const softmax = library.kernel('softmax')
        const model = defineModel({
          name: 'softmax',
          signature: '(x: f32[b, n]) -> (y: f32[b, n])',
          run: ({ x }) => softmax.async(x),
        })
        const server = await createServer({ models: [model], http: { port: 0 } })
        const url = 'http://127.0.0.1:' + server.port + '/v2/models/softmax/infer'
        const counts = { right: 0, wrong: 0, ended: 0 }
        const ask = async (i) => {
          const data = [i, i]
          const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2], data }] })
          const controller = new AbortController()
          const reply = fetch(url, { method: 'POST', body, signal: controller.signal }).then((answer) => answer.json())
          if (i % 10 === 9) controller.abort()
          try {
            const text = JSON.stringify((await reply).outputs[0].data)
            counts[text === '[0.5,0.5]' ? 'right' : 'wrong']++
          } catch (error) {
            counts[error.name === 'AbortError' ? 'ended' : 'wrong']++
          }
        }
        for (let wave = 0; wave < WAVES; wave++)
          await Promise.all(Array.from({ length: WIDTH }, (_, i) => ask(wave * WIDTH + i)))
        await server.closeAsync()
        await library.closeAsync()
        return counts
      }

      console.log(JSON.stringify(await round()))
      const before = [descriptors(), children()]
      console.log(JSON.stringify(await round()))
      // The client closes its connections later than the server.
      for (let i = 0; i < 200 && (descriptors() > before[0] || children() > before[1]); i++) await setTimeout(50)
      console.log(descriptors() <= before[0], children() <= before[1])
    `,
        join(import.meta.dirname, '..'),
      )
      const counts = '{"right":540,"wrong":0,"ended":60}'
      expect({ code, signal, stdout, stderr }).toEqual({
        code: 0,
        signal: null,
        stdout: `${counts}\n${counts}\ntrue true\n`,
        stderr: '',
      })
    },
  )
}
