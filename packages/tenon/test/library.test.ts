import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { ArgumentError, LoadError, ScopeClosedError } from '@tenon/core'
import { InvalidArgumentError, XlaError } from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { f32, Library, tensor, type Tensor } from '../src/index.ts'
import { largestDifference, noise, rmsNormReference } from './reference.ts'
import { thrownBy } from './thrown-by.ts'

const path = kernelLibrary('kernels')

describe('Library', () => {
  test.each([[[1, 1]], [[2, 4]], [[1000, 768]]])('rms_norm on %j is within 1e-6 of double precision', (shape) => {
    using library = Library.open(path)
    const rmsNorm = library.customCall('rms_norm')
    const values = noise(shape[0]! * shape[1]!)
    const x = tensor('f32', shape, values)
    const y: Tensor = rmsNorm([x], { results: [f32(shape)], attrs: { eps: f32(1e-5) } })
    expect(y.shape).toEqual(shape)
    const expected = rmsNormReference(values, shape[1]!, Math.fround(1e-5))
    expect(largestDifference(y.view() as Float32Array, expected)).toBeLessThan(1e-6)
  })

  test('broadcast_add gives the same result in the oldest and the newest convention', () => {
    using library = Library.open(path)
    const [b, c] = [noise(128), noise(2048)]
    const expected = c.map((value, i) => Math.fround(b[i % 128]! + value))
    const operands = [tensor('f32', [128], b), tensor('f32', [2048], c)]
    const host = library.hostCall('do_custom_call')(operands, { results: [f32([2048])] })
    const typed = library.customCall('broadcast_add')(operands, { results: [f32([2048])] })
    expect(host.view()).toEqual(expected)
    expect(typed.view()).toEqual(expected)
  })

  test('open() accepts a path or a file: URL, and refuses other values', () => {
    using library = Library.open(pathToFileURL(path))
    expect(library.path).toBe(path)
    expect(library.customCall('rms_norm').handler.metadata.major).toBe(0)
    for (const wrong of [new URL('https://example.org/libkernels.so'), 5, undefined, '', Buffer.from(path)]) {
      expect(thrownBy(() => Library.open(wrong as string))).toBeInstanceOf(ArgumentError)
    }
  })

  test('is printed with its path, also after close', () => {
    const library = Library.open(path)
    library.close()
    expect([String(library), inspect(library)]).toEqual([`Library ${path}`, `Library ${path}`])
  })

  test('the hint for an unknown symbol names a similar one', () => {
    using library = Library.open(path)
    const error = thrownBy(() => library.customCall('rms_nrom'))
    expect(error).toBeInstanceOf(LoadError)
    expect(error.sentence).toBe(`the library ${path} does not export a symbol named "rms_nrom"`)
    expect(error.hint).toBe('Did you mean rms_norm?')
    expect(thrownBy(() => library.hostCall('zzzzzz')).hint).toContain('default visibility')
    expect(
      thrownBy(() => library.customCall({ execute: 'counter_v1', instantiate: 'counter_instantiate' })).sentence,
    ).toContain('counter_instantiate')
  })

  test('refuses a convention that differs from the mark, and data as a function', () => {
    using library = Library.open(path)
    for (const error of [
      thrownBy(() => library.customCall('do_custom_call')),
      thrownBy(() => library.hostCall('rms_norm')),
    ]) {
      expect(error).toBeInstanceOf(ArgumentError)
      expect(error.sentence).toMatch(/must be called as a (host|typed) kernel, got (host|typed)$/)
    }
    expect(thrownBy(() => library.customCall('clip_v3__xla_ffi')).sentence).toBe(
      'clip_v3__xla_ffi must be a function, got data',
    )
  })

  test('the library and its custom calls throw ScopeClosedError after close()', () => {
    const library = Library.open(path)
    const rmsNorm = library.customCall('rms_norm')
    library.close()
    const x = tensor('f32', [1, 1], [1])
    expect(thrownBy(() => library.customCall('rms_norm'))).toBeInstanceOf(ScopeClosedError)
    expect(thrownBy(() => rmsNorm([x], { results: [f32([1, 1])], attrs: { eps: f32(1e-5) } }))).toBeInstanceOf(
      ScopeClosedError,
    )
  })

  test('a kernel that refuses, fails or throws causes an error of the matching class', () => {
    using library = Library.open(path)
    using throwing = Library.open(kernelLibrary('kernels_cpp'))
    const x = tensor('f64', [1, 1], [1])
    const refused = thrownBy(() =>
      library.customCall('rms_norm')([x], { results: [f32([1, 1])], attrs: { eps: f32(1) } }),
    )
    expect(refused).toBeInstanceOf(InvalidArgumentError)
    const failed = thrownBy(() =>
      library.customCall('fail_with')([], { results: [], attrs: { code: 8n, message: 'full' } }),
    )
    expect(failed).toBeInstanceOf(XlaError)
    const thrown = thrownBy(() =>
      throwing.customCall('throw_runtime_error')([], { results: [], attrs: { message: 'boom' } }),
    )
    expect(thrown.sentence).toContain('threw a C++ exception: boom')
  })

  test('a library found by its bare name has packed functions', () => {
    // The loader has the name from here on.
    using loaded = Library.open(kernelLibrary('packed'))
    using library = Library.open('libpacked.so')
    expect([loaded, library].map((each) => each.packed('sum')(1, 2))).toEqual([3, 3])
    expect(() => library.packed('none')).toThrow("Module has no function 'none'")
  })

  test('a library found by its bare name is called without checking marks', () => {
    if (process.platform !== 'linux') return
    using library = Library.open('libm.so.6')
    expect(library.kernels()).toEqual([])
    expect(thrownBy(() => library.customCall('coss')).sentence).toBe(
      'the library libm.so.6 does not export a symbol named "coss"',
    )
  })
})
