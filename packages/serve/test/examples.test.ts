import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { afterAll } from 'vitest'
import { createClient } from '../src/client.ts'
import * as serve from '../src/index.ts'
import { double, newDouble } from './models.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenon-models-'))
mkdirSync(join(folder, 'softmax'))
/** Answers with the numbers below n, one by one. */
const count = serve.defineModel({
  name: 'count',
  signature: '(n: s32[1]) -> (i: s32[1])',
  run: async function* ({ n }) {
    for (let i = 0; i < Number(n.toArray()[0]); i++) yield core.tensor('s32', [1], [i])
  },
})
const server = await serve.createServer({
  models: [double, newDouble('2'), count],
  // Only servers with a repository let clients load models.
  repository: { names: () => [], load: () => Promise.reject(new Error('no models')) },
  modelControl: 'explicit',
  http: { port: 0 },
})
const client = createClient(`http://127.0.0.1:${server.port}`)
afterAll(async () => {
  await client.closeAsync()
  await server.closeAsync()
  rmSync(folder, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: { '@tenon/serve': serve, '@tenon/core': core },
  context: () => ({ client, createClient, double, folder, server }),
})
