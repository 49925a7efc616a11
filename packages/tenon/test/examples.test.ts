import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as core from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { testExamples } from '@tenon/config/examples'
import { afterAll, beforeAll } from 'vitest'
import * as testing from '../src/entries/testing.ts'
import * as tenon from '../src/index.ts'

const { readNpy, tensor, writeNpy } = tenon

/** The directory in which the examples run, with the files that they name. */
let directory: string
const before = process.cwd()
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-examples-'))
  copyFileSync(kernelLibrary('kernels'), join(directory, 'libkernels.so'))
  copyFileSync(kernelLibrary('packed'), join(directory, 'libpacked.so'))
  writeNpy(join(directory, 'x.npy'), tensor('float32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8]))
  process.chdir(directory)
})
afterAll(() => {
  process.chdir(before)
  rmSync(directory, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: { tenon, 'tenon/testing': testing, '@tenon/core': core },
  context: () => ({ x: readNpy('x.npy'), library: tenon.Library.open('./libkernels.so'), readFileSync }),
})
