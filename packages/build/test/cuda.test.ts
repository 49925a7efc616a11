import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { readBinary } from '@tenon/binary'
import { describe, expect, test } from 'vitest'

import { architectureFlags, nvccFlags } from '../src/cuda.ts'
import type { SharedTarget } from '../src/targets.ts'
import { makePackage, runBin } from './fixture.ts'

const gpu: SharedTarget = { name: 'gpu', kind: 'shared', sources: ['gpu.cu'], imports: ['*'], libraries: ['rt'] }
const source = `__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
extern "C" __attribute__((visibility("default"))) int launch(float *x) {
  twice<<<1, 32>>>(x);
  return (int)cudaGetLastError();
}
`

describe('without nvcc', () => {
  const env = { NVCC: 'no-such-nvcc' }

  test('a .cu source is an error that says what to install', () => {
    const { code, stderr } = runBin('build', makePackage({ targets: [gpu] }, { 'gpu.cu': source }), [], env)
    expect(code).toBe(1)
    expect(stderr).toBe(
      'nvcc is needed to compile .cu files, and "no-such-nvcc" could not be run (NVCC=no-such-nvcc).\n' +
        'Install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads), or set NVCC to its nvcc.\n' +
        'If the library may be left out on machines without nvcc, set "optional: true" on it.\n',
    )
  })

  test('an optional library is left out with a warning', () => {
    const fixture = makePackage({ targets: [{ ...gpu, optional: true }] }, { 'gpu.cu': source })
    expect(runBin('build', fixture, [], env)).toEqual({
      code: 0,
      stdout: '',
      stderr:
        'gpu was left out: nvcc is needed to compile .cu files, and "no-such-nvcc" could not be run (NVCC=no-such-nvcc).\n',
    })
  })
})

test('architectureFlags() makes machine code or PTX', () => {
  expect(architectureFlags(['sm_90', 'compute_75'])).toEqual([
    '-gencode=arch=compute_90,code=sm_90',
    '-gencode=arch=compute_75,code=compute_75',
  ])
  expect(() => architectureFlags(['hopper'])).toThrow(
    'an architecture of CUDA must be like sm_90 or compute_90, got hopper',
  )
})

test('nvccFlags() passes on what nvcc does not know', () => {
  expect(
    nvccFlags(['-O2', '-fPIC', '-DX=1', '-Iinclude', '-Wl,-z,now', '-Wl,-rpath,$ORIGIN', '-shared', 'a.o', '-lm']),
  ).toEqual([
    '-O2',
    '-Xcompiler=-fPIC',
    '-DX=1',
    '-Iinclude',
    '-Xcompiler=-Wl\\,-z\\,now',
    '-Xcompiler=-Wl\\,-rpath\\,\\\\$ORIGIN',
    '-shared',
    'a.o',
    '-lm',
  ])
})

if (spawnSync('nvcc', ['--version']).status === 0)
  test('nvcc compiles and links a library', () => {
    const fixture = makePackage({ targets: [gpu] }, { 'gpu.cu': source })
    expect(runBin('build', fixture)).toMatchObject({ code: 0, stderr: '' })
    const path = join(fixture.directory, 'build/release/libgpu.so')
    expect(readBinary(path)).toMatchObject({ stripped: true, runpath: ['$ORIGIN'], soname: 'libgpu.so' })
    expect(existsSync(`${path}.debug`)).toBe(true)
  })
