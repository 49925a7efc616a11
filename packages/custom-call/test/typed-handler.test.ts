import { ArgumentError, LoadError, NativeLibrary, ScopeClosedError, tensor } from '@tenon/core'
import {
  f32,
  FailedPreconditionError,
  NotFoundError,
  registeredHandler,
  typedHandler,
  UnimplementedError,
  VersionSkewError,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { filled, kernels, thrownBy } from './kernels.ts'

describe('the metadata of a handler', () => {
  test.each([
    ['rms_norm', '0.1'],
    ['saxpy', '0.2'],
    ['broadcast_add', '0.3'],
  ])('%s is of version %s', (symbol, version) => {
    const handler = typedHandler(kernels, symbol)
    expect(handler.name).toBe(symbol)
    expect(handler.metadata).toStrictEqual({
      version,
      major: 0,
      minor: Number(version.slice(2)),
      commandBufferCompatible: false,
      stateTypeId: 0n,
    })
    expect(handler.stages).toStrictEqual(['execute'])
  })

  test('refuses a newer version with an instruction', () => {
    expect(() => typedHandler(kernels, 'twice_v5')).toThrow(VersionSkewError)
    expect(() => typedHandler(kernels, 'twice_v5')).toThrow(
      /twice_v5 must be built for XLA FFI 0\.1 to 0\.4, got 0\.5[\s\S]*allowNewerApi/,
    )
  })

  test('accepts a newer version with allowNewerApi', () => {
    const handler = typedHandler(kernels, 'twice_v5', { allowNewerApi: true })
    const y = tensor('f32', [3])
    const call = handler.prepare({ operands: [f32([3])], results: [y] })
    call.run([filled([3], (i) => i)], [y])
    call.close()
    expect(y.toArray()).toStrictEqual([0, 2, 4])
  })

  test.each([
    ['version_0_0', '0.0 (jaxlib of summer 2024)'],
    ['version_negative', '-1.4'],
  ])('refuses the older version of %s, whose handler is typed all the same', (symbol, version) => {
    const error = thrownBy(() => typedHandler(kernels, symbol, { allowNewerApi: true })) as VersionSkewError
    expect(error).toBeInstanceOf(VersionSkewError)
    expect(error.sentence).toBe(`${symbol} must be built for XLA FFI 0.1 to 0.4, got ${version}`)
    expect(error.hint).toBe('Build it against newer headers.')
  })

  test('refuses a function that does not answer', () => {
    expect(() => typedHandler(kernels, 'silent')).toThrow(ArgumentError)
    expect(() => typedHandler(kernels, 'silent')).toThrow(
      /silent must be a typed XLA handler.*did not answer[\s\S]*hostFunction/,
    )
  })

  test('throws the error of an answer', () => {
    expect(() => typedHandler(kernels, 'not_ready')).toThrow(FailedPreconditionError)
    expect(() => typedHandler(kernels, 'not_ready')).toThrow(
      /not_ready answered FAILED_PRECONDITION: types must be registered/,
    )
  })

  test('must have one version for all handlers of a target', () => {
    expect(() => typedHandler(kernels, { execute: 'counter_v1', instantiate: 'counter_v2_instantiate' })).toThrow(
      /one version of XLA FFI, instantiate is for 0\.2 and execute for 0\.1/,
    )
  })
})

describe('a handler is looked up in its library', () => {
  test('and an unknown symbol is refused', () => {
    expect(() => typedHandler(kernels, 'no_such_kernel')).toThrow(LoadError)
  })

  test('and invalid symbols are refused', () => {
    expect(() => typedHandler(kernels, 5 as never)).toThrow(ArgumentError)
    expect(() => typedHandler(kernels, {} as never)).toThrow(ArgumentError)
    expect(() => typedHandler(kernels, '')).toThrow(ArgumentError)
  })

  test('and a closed library neither finds nor runs handlers', () => {
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    const handler = typedHandler(library, 'twice_v5', { allowNewerApi: true })
    const call = handler.prepare({ operands: [f32([1])], results: [f32([1])] })
    library.close()
    const x = tensor('f32', [1])
    expect(() => typedHandler(library, 'saxpy')).toThrow(ScopeClosedError)
    expect(() => handler.prepare({ operands: [f32([1])], results: [f32([1])] })).toThrow(ScopeClosedError)
    expect(() => call.run([x], [x])).toThrow(ScopeClosedError)
    expect(() => call.bind([x], [x])).toThrow(ScopeClosedError)
    call.close()
  })
})

describe('a library that needs symbols of its runtime', () => {
  const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))

  test('finds the symbols in the core, which was loaded first', () =>
    expect(library.has('integer_operation')).toBe(true))

  test('has registered its handler itself', () => {
    const handler = registeredHandler('negate', { platform: 'CPU' })
    const y = tensor('f32', [2])
    const call = handler.prepare({ operands: [f32([2])], results: [f32([2])] })
    call.run([filled([2], (i) => i + 1)], [y])
    call.close()
    expect(handler.metadata.version).toBe('0.3')
    expect(y.toArray()).toStrictEqual([-1, -2])
  })

  test('throws NotFoundError for an unknown registered name', () => {
    expect(() => registeredHandler('nobody')).toThrow(NotFoundError)
    expect(() => registeredHandler('negate', { platform: 'CUDA' })).toThrow(
      /No FFI handler registered for negate on a platform CUDA/,
    )
    expect(() => registeredHandler('')).toThrow(ArgumentError)
  })
})

test('functions that the Host lacks answer UNIMPLEMENTED', () => {
  const call = typedHandler(kernels, 'needs_stream').prepare({})
  expect(() => call.run([], [])).toThrow(UnimplementedError)
  expect(() => call.run([], [])).toThrow(/needs_stream answered UNIMPLEMENTED: XLA FFI GPU context is not available/)
  call.close()
})
