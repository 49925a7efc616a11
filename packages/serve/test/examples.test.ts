import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { afterAll } from 'vitest'
import * as serve from '../src/index.ts'
import { double } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenon-models-'))
mkdirSync(join(folder, 'softmax'))
afterAll(() => rmSync(folder, { recursive: true }))

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: { '@tenon/serve': serve, '@tenon/core': core },
  context: () => ({ double, folder }),
})
