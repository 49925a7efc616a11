import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient, type Client } from '../src/client.ts'
import { createServer, defineModel, type InferenceServer } from '../src/index.ts'
import { echo } from './models.ts'
import { Served } from './support.ts'

const LARGE = 2 ** 17 // elements, which are 512 KiB

const sum = defineModel({
  name: 'sum',
  signature: '(a: f32[n], b: f32[n], c: f32[1]) -> (y: f32[n])',
  run: ({ a }) => a,
})

/** A prefix of names that no other test has, so that files can be counted. */
let tests = 0
const newPrefix = (): string => `mine-${process.pid}-${++tests}-`

const filesOf = (prefix: string): string[] => readdirSync('/dev/shm').filter((name) => name.startsWith(prefix))

async function start(prefix: string): Promise<{ server: InferenceServer; client: Client; served: Served }> {
  const served = await Served.start([echo('f32', 'echo'), sum], { allowClientSharedMemory: prefix })
  const client = createClient(`http://127.0.0.1:${served.server.port}`, { sharedMemory: prefix })
  onTestFinished(() => client.closeAsync())
  return { server: served.server, client, served }
}

const filled = (value: number, length = LARGE): Float32Array => new Float32Array(length).fill(value)

const regionsOf = async (served: Served): Promise<unknown[]> =>
  (await served.get('/v2/systemsharedmemory/status'))[1] as unknown[]

// Other systems have shared memory elsewhere.
if (process.platform === 'linux')
  describe('inputs in shared memory', () => {
    test('large inputs are in shared memory, and small ones in the body', async () => {
      const prefix = newPrefix()
      const { client, served } = await start(prefix)
      await client.infer('echo', { x: filled(1, 4) })
      expect([filesOf(prefix).length, await regionsOf(served)]).toEqual([0, []])
      const { y } = await client.infer('sum', { a: filled(1), b: filled(2), c: filled(3, 1) })
      expect(y?.data).toEqual(filled(1))
      const [region] = (await regionsOf(served)) as [{ byte_size: number }]
      expect([filesOf(prefix).length, region.byte_size]).toEqual([1, 2 ** 20])
      await client.closeAsync()
      expect([filesOf(prefix), await regionsOf(served)]).toEqual([[], []])
    })

    test('requests at the same time have memory of their own, which later ones use again', async () => {
      const prefix = newPrefix()
      const { client, served } = await start(prefix)
      for (let round = 0; round < 5; round++) {
        const values = Array.from({ length: 8 }, (_, i) => 10 * round + i)
        const answers = await Promise.all(values.map((value) => client.infer('echo', { x: filled(value) })))
        expect(answers.map(({ y }) => y?.data)).toEqual(values.map((value) => filled(value)))
      }
      expect([filesOf(prefix).length, (await regionsOf(served)).length]).toEqual([8, 8])
    })

    test('a server that was started again gets the memory again', async () => {
      const prefix = newPrefix()
      const options = { models: [echo('f32', 'echo')], allowClientSharedMemory: prefix, logError: () => {} }
      const first = await createServer({ ...options, http: { port: 0 } })
      const client = createClient(`http://127.0.0.1:${first.port}`, { sharedMemory: prefix })
      await client.infer('echo', { x: filled(1) })
      const { port } = first
      await first.closeAsync()
      const second = await createServer({ ...options, http: { port } })
      expect((await client.infer('echo', { x: filled(2) }))['y']?.data).toEqual(filled(2))
      await second.closeAsync()
      // The server is gone, and the files go nevertheless.
      await client.closeAsync()
      expect(filesOf(prefix)).toEqual([])
    })

    test('errors of the model and of the server leave nothing behind', async () => {
      const prefix = newPrefix()
      const { client, served } = await start(prefix)
      await expect(client.infer('echo', { x: { shape: [2, LARGE / 2], data: filled(1) } })).rejects.toMatchObject({
        code: 'TENON_INVALID_REQUEST',
      })
      await expect(client.infer('none', { x: filled(1) })).rejects.toMatchObject({ code: 'TENON_MODEL_NOT_FOUND' })
      const other = createClient(`http://127.0.0.1:${served.server.port}`, { sharedMemory: 'other-' })
      await expect(other.infer('echo', { x: filled(1) })).rejects.toThrow(`a name that starts with ${prefix}`)
      const { server } = await Served.start([echo('f32', 'echo')])
      const none = createClient(`http://127.0.0.1:${server.port}`, { sharedMemory: prefix })
      await expect(none.infer('echo', { x: filled(1) })).rejects.toMatchObject({ code: 'TENON_UNSUPPORTED' })
      await Promise.all([client, other, none].map((one) => one.closeAsync()))
      expect([...filesOf(prefix), ...filesOf('other-')]).toEqual([])
    })

    test('the end of the process removes the memory', async () => {
      const prefix = newPrefix()
      const { server } = await start(prefix)
      const program = `
        import { createClient } from ${JSON.stringify(join(import.meta.dirname, '../src/client.ts'))}
        const client = createClient('http://127.0.0.1:${server.port}', { sharedMemory: '${prefix}' })
        const { y } = await client.infer('echo', { x: new Float32Array(${LARGE}).fill(7) })
        console.log(y.data.length, y.data[0])
        process.exit()`
      const flags = ['--conditions=@tenon/source', '--no-warnings', '--input-type=module', '-e', program]
      const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: join(import.meta.dirname, '..') })
      expect([stdout.trim(), filesOf(prefix)]).toEqual([`${LARGE} 7`, []])
    })

    test('the option needs a server of this machine, and a name', () => {
      expect(() => createClient('http://example.org', { sharedMemory: 'mine-' })).toThrow(/a server of this machine/)
      for (const sharedMemory of ['', '../x', 'a/b', 5, true]) {
        expect(() => createClient('http://127.0.0.1', { sharedMemory: sharedMemory as string })).toThrow(
          /letters, digits/,
        )
      }
    })
  })
