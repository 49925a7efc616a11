import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import { afterAll, beforeAll } from 'vitest'
import * as tstring from '../src/index.ts'

/** The working directory of the examples, which has the file that one of them opens. */
let directory: string
const before = process.cwd()
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tstring-examples-'))
  process.chdir(directory)
  tstring.StringTensor.from(['a', 'b'], { layout: 'tflite' }).export('words.bin')
})
afterAll(() => {
  process.chdir(before)
  rmSync(directory, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: { '@tenon/tstring': tstring, '@tenon/core': core },
  context: () => ({ segment: tstring.StringTensor.from(['a', 'b'], { layout: 'tflite' }).segment }),
})
