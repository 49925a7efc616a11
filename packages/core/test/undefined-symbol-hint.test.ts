import { LoadError, NativeLibrary } from '@tenon/core'
import { explainLoadFailure } from '@tenon/core/internal'
import { describe, expect, test } from 'vitest'
import { fixturePath } from './fixture.ts'

const path = fixturePath('core_fixture')
const hintOf = (reason: string): string | undefined => explainLoadFailure(path, reason).hint

describe('the hint for a symbol that no loaded library exports', () => {
  test('says what to link when a library is opened', () => {
    const open = (): unknown => NativeLibrary.open(fixturePath('core_fixture_unresolved'))
    expect(open).toThrow(LoadError)
    expect(open).toThrow(/undefined symbol: fixture_nobody_has_this[^]*Hint: Link the library with the library/)
  })

  test.each([
    ['sinhf', /-lm\b/],
    ['pow', /-lm\b/],
    ['TVMFFIAnyViewToOwnedAny', /Library\.open\(\)[^]*TENON_TVM_FFI_LIBRARY/],
    ['TVMAPISetLastError', /Library\.open\(\)/],
    ['_ZN3tvm3ffi5Error4makeEv', /Library\.open\(\)/],
    ['XLA_FFI_Unknown', /headers of XLA/],
    ['_ZNSt6thread15_M_start_threadEv', /-lstdc\+\+/],
    ['_ZTVN10__cxxabiv117__class_type_infoE', /-lstdc\+\+/],
    ['__cxa_throw', /-lstdc\+\+/],
    ['GOMP_parallel', /-fopenmp/],
    ['__asan_init', /-fsanitize/],
    ['cudaMalloc', /-lcudart/],
    ['cblas_sgemm', /BLAS/],
    ['sgemm_', /BLAS/],
    ['power', /defines the symbol/],
    ['_Z9my_kernelPf', /extern "C"/],
    ['constructor', /defines the symbol/],
  ])('%s', (name, hint) => {
    expect(hintOf(`${path}: undefined symbol: ${name}`)).toMatch(hint)
    expect(hintOf(`${path}: undefined symbol: ${name}, version V_1.0`)).toMatch(hint)
    expect(hintOf(`Error relocating ${path}: ${name}: symbol not found`)).toMatch(hint)
    expect(hintOf(`dlopen(${path}, 0x0002): Symbol not found: _${name}\n  Referenced from: x`)).toMatch(hint)
    expect(hintOf(`dlopen(${path}, 0x0002): symbol not found in flat namespace '_${name}'`)).toMatch(hint)
  })

  test('other reasons have no such hint', () => {
    expect(hintOf(`${path}: cannot allocate memory in static TLS block`)).toBeUndefined()
  })
})
