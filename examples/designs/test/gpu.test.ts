import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Library } from 'tenon'
import { Cuda } from 'tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as customCalls from '../custom-call/gpu.ts'
import * as packedFuncs from '../packed-func/gpu.ts'
import { compileForGpu, compileForSimulation, isForGpu, nvcc, sources } from './compile.ts'

/** Whether the examples run on a GPU (`pnpm test:gpu`) instead of the simulated device. */
const isReal = process.env['TENON_CUDA'] === 'real'
const gpuSources = sources.filter(isForGpu)

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-designs-gpu-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

describe.runIf(process.platform === 'linux')(`on ${isReal ? 'a GPU' : 'the simulated device'}`, () => {
  let cuda: Cuda
  beforeAll(() => {
    for (const source of gpuSources) (isReal ? compileForGpu : compileForSimulation)(directory, source)
    cuda = isReal ? Cuda.open() : Cuda.open({ library: kernelLibrary('simulated_cuda') })
  }, 120_000)

  test.each(Object.entries({ ...customCalls, ...packedFuncs }))('%s runs', async (_, example) => {
    expect(await example(directory, cuda)).toBeUndefined()
  })
})

// Without nvcc only the simulated device is tested, because users do not need it.
if (nvcc !== undefined) {
  test.each([
    ['csrc/add_one_cuda.cu', '__tvm_ffi_add_one_cuda'],
    ['csrc/do_gpu_call.cu', 'do_typed_gpu_call'],
  ])(
    'nvcc compiles %s',
    (source, symbol) => {
      const compiled = mkdtempSync(join(directory, 'nvcc-'))
      compileForGpu(compiled, source)
      const library = join(compiled, `lib${basename(source, '.cu')}.so`)
      expect(Library.open(library).native.has(symbol)).toBe(true)
    },
    120_000,
  )
}
