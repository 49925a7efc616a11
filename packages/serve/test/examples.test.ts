import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { afterAll } from 'vitest'
import { createClient } from '../src/client.ts'
import * as serve from '../src/index.ts'
import { double } from './models.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenon-models-'))
mkdirSync(join(folder, 'softmax'))
const server = await serve.createServer({ models: [double], http: { port: 0 } })
afterAll(async () => {
  await server.closeAsync()
  rmSync(folder, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: { '@tenon/serve': serve, '@tenon/core': core },
  context: () => ({ createClient, double, folder, server }),
})
