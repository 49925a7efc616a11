import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as core from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { testExamples } from '@tenon/config/examples'
import { afterAll, beforeAll } from 'vitest'
import * as build from '../src/entries/build.ts'
import * as bundler from '../src/entries/bundler.ts'
import * as scope from '../src/entries/scope.ts'
import * as testing from '../src/entries/testing.ts'
import * as tstring from '../src/entries/tstring.ts'
import * as tenon from '../src/index.ts'

const { readNpy, tensor, writeNpy } = tenon

/** A kernel for inline sources. */
const source = `#include <tenon/kernel.h>

TN_KERNEL(twice, "(x: f32[...s]) -> (y: f32[...s])") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, TN_XLA_ANY), *y = tn_xla_ret_like(in, 0, x);
  if (!tn_xla_complete(in)) return;
  for (int64_t i = 0; i < tn_xla_element_count(x); i++) ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
}
`

/** The directory in which the examples run, with the files that they name. */
let directory: string
const before = process.cwd()
const cacheBefore = process.env['TENON_CACHE_DIR']
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-examples-'))
  copyFileSync(kernelLibrary('kernels'), join(directory, 'libkernels.so'))
  copyFileSync(kernelLibrary('packed'), join(directory, 'libpacked.so'))
  writeNpy(join(directory, 'x.npy'), tensor('float32', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8]))
  process.chdir(directory)
  process.env['TENON_CACHE_DIR'] = join(directory, 'cache')
  build.newProject({ name: 'my-kernels', tenon: '*', directory: join(directory, 'my-kernels') })
})
afterAll(() => {
  process.chdir(before)
  if (cacheBefore === undefined) delete process.env['TENON_CACHE_DIR']
  else process.env['TENON_CACHE_DIR'] = cacheBefore
  rmSync(directory, { recursive: true })
})

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    tenon,
    'tenon/build': build,
    'tenon/bundler': bundler,
    'tenon/scope': scope,
    'tenon/testing': testing,
    'tenon/tstring': tstring,
    '@tenon/core': core,
  },
  context: () => ({ x: readNpy('x.npy'), library: tenon.Library.open('./libkernels.so'), readFileSync, source }),
})
