import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
    ['_ZN3xla24CustomCallTargetRegistry8RegisterERKNSt3__112basic_stringIcEEPvS9_', /custom_call_target_registry\.h/],
    ['_ZNSt6thread15_M_start_threadEv', /-lstdc\+\+/],
    ['_ZTVN10__cxxabiv117__class_type_infoE', /-lstdc\+\+/],
    ['__cxa_throw', /-lstdc\+\+/],
    ['GOMP_parallel', /-fopenmp/],
    ['__asan_init', /-fsanitize/],
    ['cudaMalloc', /-lcudart/],
    ['cblas_sgemm', /BLAS/],
    ['sgemm_', /BLAS/],
    ['power', /defines the symbol/],
    ['_ZTIN10tensorflow8OpKernelE', /uses TensorFlow's C\+\+ interface, which exists only inside TensorFlow/],
    ['_ZN10tensorflow8OpKernel7ComputeEPNS_15OpKernelContextE', /C\+\+ interface/],
    ['TF_OpKernelConstruction_Failure', /Library.open\(\) of tenon/],
    ['_ZN2at6native3addERKNS_6TensorES3_', /operations of PyTorch/],
    ['_ZTISt9exception', /-lstdc\+\+/],
    ['_ZTVN2my6KernelE', /defines the symbol/],
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
    expect(hintOf(`${path}: file too short`)).toBeUndefined()
  })

  test('a stack that the system does not make executable has a hint of its own', () => {
    const reason = 'cannot enable executable stack as shared object requires: Permission denied'
    expect(hintOf(`${path}: ${reason}`)).toMatch(/^Link the library with -z noexecstack/)
  })
})

test('a library with too many thread-local variables is loaded when the process starts', () => {
  expect(hintOf(`${path}: cannot allocate memory in static TLS block`)).toMatch(/LD_PRELOAD.*optional_static_tls/)
})

test('a linker script that the loader finds is named, with the library that it names', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-script-'))
  try {
    const script = join(directory, 'libx.so')
    writeFileSync(script, '/* GNU ld script */\nGROUP ( /lib/libx.so.6  AS_NEEDED ( /lib/libxvec.so.1 ) )\n')
    expect(explainLoadFailure('libx.so', `${script}: invalid ELF header`).message).toMatch(
      /^the library libx\.so is a linker script, which no loader can load\nHint: Open the library that it names: \/lib\/libx\.so\.6\./,
    )
    writeFileSync(script, 'text')
    expect(explainLoadFailure('libx.so', `${script}: file too short`).sentence).toContain('file too short')
  } finally {
    rmSync(directory, { recursive: true })
  }
})
