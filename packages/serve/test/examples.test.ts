import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import * as serve from '../src/index.ts'
import { double } from './support.ts'

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: { '@tenon/serve': serve, '@tenon/core': core },
  context: () => ({ double }),
})
