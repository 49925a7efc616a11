import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { NativeLibrary } from '@tenon/core'
import { deviceFunction, f32, typedHandler } from '@tenon/custom-call'
import { expect, test } from 'vitest'
import { expected, N, operands, stream, valuesOf } from './cuda-device.ts'
import { isInstalled, isReal } from './cuda-fixture.ts'

const nvcc = ['nvcc', '/usr/local/cuda/bin/nvcc'].find((path) => spawnSync(path, ['--version']).status === 0)
const { resolve } = createRequire(import.meta.url)
const source = join(dirname(resolve('@tenon/kernels')), 'cuda/saxpy.cu')
const include = join(dirname(resolve('@tenon/core/package.json')), 'include')

/** Compiles and opens the example. */
function compile(): NativeLibrary {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-nvcc-'))
  try {
    const library = join(directory, 'libsaxpy.so')
    const flags = ['-O2', '-std=c++17', '-shared', '-Xcompiler', '-fPIC', '-I', include]
    // Libraries that are preloaded here must not be loaded by compilers.
    const env = { ...process.env, LD_PRELOAD: '' }
    execFileSync(nvcc!, [...flags, '-o', library, source], { stdio: ['ignore', 'ignore', 'inherit'], env })
    return NativeLibrary.open(library)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

// Without nvcc nothing is tested, because users do not need it.
if (nvcc !== undefined) {
  test('a handler in CUDA C++ compiles, and its metadata can be read', async () => {
    const library = compile()
    const handler = typedHandler(library, 'saxpy_nvcc', { platform: 'CUDA' })
    expect(library.has('saxpy_nvcc_untyped')).toBe(true)
    expect(handler.metadata).toMatchObject({ version: '0.3', commandBufferCompatible: true })
    const [x, y] = operands()
    using call = handler.prepare({
      operands: [f32([N]), f32([N])],
      results: [f32([N])],
      attrs: { a: f32(2) },
      aliases: [{ operand: 1, result: 0 }],
      stream,
    })
    if (!isReal) {
      // The CUDA runtime does not find a real driver, which the handler reports. With one, it would refuse a simulated stream.
      if (!isInstalled) expect(() => call.run([x, y], [y])).toThrow(/saxpy_nvcc answered INTERNAL/)
      return
    }
    call.run([x, y], [y])
    expect(await valuesOf(y)).toStrictEqual(expected(1))
    const opaque = new DataView(new ArrayBuffer(8))
    opaque.setFloat32(0, 2, true)
    opaque.setUint32(4, N, true)
    using untyped = deviceFunction(library, 'saxpy_nvcc_untyped').prepare({
      operands: [x, y],
      results: [y],
      opaque: new Uint8Array(opaque.buffer),
      stream,
    })
    untyped.run([x, y], [y])
    expect(await valuesOf(y)).toStrictEqual(expected(2))
  }, 60_000)
} else {
  test('nvcc is not installed', () => {
    expect(nvcc).toBeUndefined()
  })
}
