import { ArgumentError, NativeLibrary, tensor } from '@tenon/core'
import {
  NotFoundError,
  refusedNames,
  registeredHandler,
  registeredNames,
  TargetRegistry,
  targets,
  typedHandler,
  VersionSkewError,
  type HandlerOptions,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { kernels, liveObjects, thrownBy } from './kernels.ts'

// Registers its handlers when it is loaded.
const registered = NativeLibrary.open(kernelLibrary('kernels_registered'))

const facts = (minor: number): number[] => {
  const out = tensor('s64', [8])
  using call = typedHandler(registered, `table_facts_v${minor}`).prepare({ results: [out] })
  call.run([], [out])
  return out.toArray().map(Number)
}

const [UNIMPLEMENTED, INTERNAL] = [12, 13]

test.each([3, 4])('a handler of 0.%i gets the table of its version, with FindExtension', (minor) => {
  expect(facts(minor).slice(0, 2)).toStrictEqual([200, minor])
})

test('the table of 0.2 stays as it was, and its slot 192 answers UNIMPLEMENTED', () => {
  expect(facts(2).slice(0, 4)).toStrictEqual([192, 2, 1, 1])
})

test('Error_GetDetails writes the code, which Error_GetMessage has no place for', () => {
  const [code, length, unknownCode, olderIsWrong] = facts(4).slice(4)
  expect([code, length]).toStrictEqual([UNIMPLEMENTED, 'unimplemented'.length])
  expect(unknownCode).toBe(INTERNAL)
  expect(olderIsWrong).toBe(0)
})

test('FindExtension succeeds without an extension', () => {
  const [failed, found] = facts(4).slice(2)
  expect([failed, found]).toStrictEqual([0, 0])
})

test('registrations of four and of five handlers are read by their size', () => {
  const older = registeredHandler('registered_older')
  expect(older.stages).toStrictEqual(['execute'])
  expect(older.metadata).toMatchObject({ version: '0.3', commandBufferCompatible: true })
  const newer = registeredHandler('registered_traits')
  expect(newer.metadata).toMatchObject({ version: '0.4', commandBufferCompatible: true })
  expect(refusedNames()).toContainEqual({
    name: 'registered_size',
    platform: 'host',
    convention: 'typed',
    reason: 'Unexpected XLA_FFI_Handler_Register_Args size: expected 84, or at least 92, got 88',
    version: undefined,
  })
})

describe('a record handler', () => {
  const recordRuns = registered.function('record_runs', { result: 'int64', parameters: [] }) as () => unknown
  const out = tensor('s64', [])

  test('is asked for its version and listed, and never run', async () => {
    for (const handler of [
      registeredHandler('registered_record'),
      typedHandler(registered, { execute: 'answer_v4', record: 'record_v4' }),
    ]) {
      expect(handler.stages).toStrictEqual(['execute', 'record'])
      expect(handler.metadata.version).toBe('0.4')
      using call = handler.prepare({ results: [out] })
      call.run([], [out])
      using bound = call.bind([], [out])
      bound.run()
      await call.runAsync([], [out])
      expect(out.toArray()).toStrictEqual([42n])
    }
    expect(Number(recordRuns())).toBe(0)
  })

  test('must have the version of the other handlers', () => {
    expect(() => typedHandler(registered, { execute: 'answer_v4', record: 'record_v3' })).toThrow(
      /must be built for one version of XLA FFI, record is for 0\.3 and execute for 0\.4/,
    )
  })

  test('can be registered, and distinguishes targets', () => {
    const registry = new TargetRegistry()
    const code = (symbol: string): { library: NativeLibrary; symbol: string } => ({ library: registered, symbol })
    const both = { execute: code('answer_v4'), record: code('record_v4') }
    const made = registry.registerTyped('recorded', both)
    expect(made.stages).toStrictEqual(['execute', 'record'])
    expect(registry.registerTyped('recorded', both)).toBe(made)
    expect(() => registry.registerTyped('recorded', { execute: code('answer_v4') })).toThrow(
      /different bundle addresses/,
    )
    registry.unregister('recorded')
  })
})

test('registrations that differ only in record are different', () => {
  expect(refusedNames().find(({ name }) => name === 'registered_record')).toMatchObject({
    version: '0.4',
    reason: 'Duplicate FFI handler registration for registered_record on platform host with different bundle addresses',
  })
  expect(registeredHandler('registered_record').stages).toContain('record')
})

test('the traits are those of the registration or of the execute handler', () => {
  // The handlers themselves declare no trait.
  expect(typedHandler(registered, 'answer_v4').metadata.commandBufferCompatible).toBe(false)
  const traits = (name: string, options?: HandlerOptions): boolean =>
    registeredHandler(name, options).metadata.commandBufferCompatible
  expect(traits('registered_traits')).toBe(true)
  expect(traits('registered_record')).toBe(false)
  expect(traits('registered_record', { commandBufferCompatible: true })).toBe(true)
})

describe('refused registrations', () => {
  test('are listed with their reason, and not among the registered names', () => {
    const accepted = registeredNames().filter(({ name }) => name.startsWith('registered_'))
    expect(accepted).toStrictEqual(
      ['older', 'record', 'traits'].map((name) => ({
        name: `registered_${name}`,
        platform: 'host',
        convention: 'typed',
      })),
    )
    expect(refusedNames().map(({ name, version }) => [name, version])).toStrictEqual([
      ['registered_newer', '0.5'],
      ['registered_record', '0.4'],
      ['registered_size', undefined],
      ['registered_withdrawn', '1.0'],
    ])
    expect(refusedNames()[0]).toStrictEqual({
      name: 'registered_newer',
      platform: 'host',
      convention: 'typed',
      reason: 'built for XLA FFI 0.5',
      version: '0.5',
    })
  })

  test('are named by the look-up, with the reason', () => {
    const error = thrownBy(() => registeredHandler('registered_newer', { platform: 'CPU' })) as VersionSkewError
    expect(error).toBeInstanceOf(VersionSkewError)
    expect(error.sentence).toBe('registered_newer was refused when it registered itself: built for XLA FFI 0.5')
    expect(error.hint).toContain('allowNewerApi: true')
    expect(() => registeredHandler('registered_size')).toThrow(NotFoundError)
    expect(() => registeredHandler('registered_size', { allowNewerApi: true })).toThrow(
      /registered_size was refused when it registered itself: .*expected 84, or at least 92, got 88/,
    )
    expect(() => registeredHandler('registered_newer', { platform: 'CUDA' })).toThrow(/No FFI handler registered/)
    expect(() => targets.prepare('registered_newer', {})).toThrow(VersionSkewError)
    expect(targets.lookup('registered_newer')).toBeUndefined()
    expect(targets.list().has('registered_newer')).toBe(false)
  })

  test('of a newer 0.x are accepted with allowNewerApi', () => {
    const handler = registeredHandler('registered_newer', { allowNewerApi: true })
    expect(handler.metadata).toMatchObject({ version: '0.5', commandBufferCompatible: true })
    const out = tensor('s64', [])
    using call = handler.prepare({ results: [out] })
    call.run([], [out])
    expect(out.toArray()).toStrictEqual([42n])
  })
})

describe('versions that are not spoken', () => {
  test.each([false, true])('1.0 was withdrawn, allowNewerApi: %s', (allowNewerApi) => {
    const error = thrownBy(() => typedHandler(registered, 'answer_v1_0', { allowNewerApi })) as VersionSkewError
    expect(error).toBeInstanceOf(VersionSkewError)
    expect(error.sentence).toBe(
      'answer_v1_0 must be built for XLA FFI 0.1 to 0.4, got 1.0, a version that XLA withdrew after three days',
    )
    expect(error.hint).toBe('Build it against newer headers.')
    const refusal = thrownBy(() => registeredHandler('registered_withdrawn', { allowNewerApi })) as VersionSkewError
    expect(refusal.sentence).toBe(
      'registered_withdrawn was refused when it registered itself: built for XLA FFI 1.0, a version that XLA withdrew after three days',
    )
    expect(refusal.hint).not.toContain('allowNewerApi')
  })

  test('0.5 is accepted with allowNewerApi', () => {
    expect(typedHandler(kernels, 'twice_v5', { allowNewerApi: true }).metadata.version).toBe('0.5')
  })

  test('a function of C in a library that was made with the header of XLA has no version', () => {
    const early = NativeLibrary.open(kernelLibrary('kernels_early'))
    const silent = thrownBy(() => typedHandler(early, 'silent_early')) as ArgumentError
    expect(silent).toBeInstanceOf(ArgumentError)
    expect(silent.sentence).toBe(
      'silent_early must be a typed XLA handler, it did not answer when asked for its metadata',
    )
    expect(silent.hint).toContain('If it is a handler of XLA FFI 0.0 (jaxlib of summer 2024), build it against newer')
    const plain = thrownBy(() => typedHandler(early, 'plain_early')) as Error
    expect(plain).not.toBeInstanceOf(VersionSkewError)
    expect(plain.message).toMatch(
      /^plain_early answered INTERNAL: the handler returned .+, which is not an error of this/,
    )
  })

  test('a handler that decodes a call instead of an answer, in such a library, was built for 0.0', () => {
    const early = NativeLibrary.open(kernelLibrary('kernels_early'))
    const error = thrownBy(() => typedHandler(early, 'decoding_early')) as VersionSkewError
    expect(error).toBeInstanceOf(VersionSkewError)
    expect(error.sentence).toContain('decoding_early must be built for XLA FFI 0.1 to 0.4, got 0.0')
    expect(error.hint).toBe('Build it against newer headers.')
    expect(() => typedHandler(kernels, 'silent')).toThrow(/hostFunction/)
    expect(() => typedHandler(kernels, 'not_ready')).toThrow(/FAILED_PRECONDITION/)
  })
})

test('nothing is left behind', () => {
  expect(liveObjects()).toStrictEqual({ errors: 0, futures: 0 })
})
