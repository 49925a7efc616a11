import { ArgumentError, LoadError, NativeLibrary, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import {
  callProvider,
  f32,
  InternalError,
  InvalidArgumentError,
  NotFoundError,
  offerApi,
  pred,
  registeredHandler,
  registeredNames,
  registerType,
  s64,
  TargetRegistry,
  typedHandler,
  type HandlerType,
  type PreparedCall,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { NativeScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { filled, kernels, liveObjects, thrownBy } from './kernels.ts'

const SYMBOLS = { id: 'factor_type_id', info: 'factor_type_info' } as const
const type: HandlerType = registerType(kernels, 'tenon_factor', SYMBOLS)
const x = filled([3], (i) => i + 1)
const y = tensor('f32', [3])
const shape = { operands: [x], results: [y] } as const

describe('a type of a library', () => {
  test('gets an id, and the same one again', () => {
    expect(type).toEqual({ name: 'tenon_factor', id: expect.any(BigInt) as bigint })
    expect(type.id).not.toBe(0n)
    expect(registerType(kernels, 'tenon_factor', { ...SYMBOLS, api: '0.1' })).toEqual(type)
  })

  test('is refused if its name or id is taken', () => {
    expect(() => registerType(kernels, 'another_name', SYMBOLS)).toThrow(InternalError as never)
    expect(() => registerType(kernels, 'tenon_factor', { id: 'no_such_symbol' })).toThrow(LoadError)
    expect(() => registerType(kernels, '', SYMBOLS)).toThrow(ArgumentError)
    expect(() => registerType(kernels, 'a', { ...SYMBOLS, api: '0.5' as never })).toThrow(/api must be/)
  })

  test('can be registered by a provider function', () => {
    expect(() => callProvider(kernels, 'provide_factor_type')).not.toThrow()
    expect(() => callProvider(kernels, 'provide_nothing')).not.toThrow()
    expect(() => callProvider(kernels, 'provide_failure')).toThrow(InvalidArgumentError as never)
    expect(() => callProvider(kernels, 'no_such_symbol')).toThrow(LoadError)
    expect(thrownBy(() => callProvider(kernels, 'provide_failure'))).toMatchObject({ target: 'provide_failure' })
  })

  test('can be registered by a library that is offered an older function table', () => {
    const library = NativeLibrary.open(kernelLibrary('kernels_runtime'))
    const minor = library.function('offered_minor', { result: 'int32', parameters: [] })
    expect(offerApi('0.1', () => minor())).toBe(1)
    expect(offerApi('0.2', () => minor())).toBe(2)
    expect(minor()).toBe(4)
    expect(() => offerApi('1.0' as never, () => library)).toThrow(ArgumentError)
    expect(() =>
      offerApi('0.2', () => {
        throw new Error('while loading')
      }),
    ).toThrow('while loading')
    expect(minor()).toBe(4)
    expect(registeredNames()).toContainEqual({ name: 'negate', platform: 'host', convention: 'typed' })
    expect(registeredHandler('negate').metadata.version).toBe('0.3')
    library.close()
  })
})

describe.each(['v1', 'v2', 'v3', 'v4'])('user data for a handler of %s', (version) => {
  const handler = typedHandler(kernels, `lent_factor_${version}`)

  test('2.9: is found by its type in all runs', async () => {
    const factor = tensor('f32', [1], [2])
    using call = handler.prepare({ ...shape, userData: [{ type, data: factor }] })
    call.run([x], [y])
    expect(y.toArray()).toEqual([2, 4, 6])
    factor.segment.view().setFloat32(0, 3, true)
    using bound = call.bind([x], [y])
    bound.run()
    expect(y.toArray()).toEqual([3, 6, 9])
    const z = tensor('f32', [3])
    await call.runAsync([x], [z])
    expect(z.toArray()).toEqual([3, 6, 9])
  })

  test('2.9: is NOT_FOUND if it was not lent', () => {
    using call = handler.prepare(shape)
    expect(() => call.run([x], [y])).toThrow(NotFoundError as never)
    using other = handler.prepare({ ...shape, userData: [{ type: type.id + 1000n, data: x }] })
    expect(() => other.run([x], [y])).toThrow(/User data with type id/)
  })

  test('stays open as long as the call', () => {
    const scope = NativeScope.ofConfined()
    const factor = tensor('f32', [1], [2], { allocator: scope })
    const call = handler.prepare({ ...shape, userData: [{ type, data: factor.segment }] })
    expect(() => scope.close()).toThrow(ScopeHeldError)
    call.close()
    scope.close()
    expect(() => handler.prepare({ ...shape, userData: [{ type, data: factor }] })).toThrow(ScopeClosedError)
  })

  test('can be given by address', () => {
    const factor = tensor('f32', [1], [0.5])
    using call = handler.prepare({ ...shape, userData: [{ type: type.id, data: factor.segment.address }] })
    call.run([x], [y])
    expect(y.toArray()).toEqual([0.5, 1, 1.5])
  })
})

describe('invalid user data is refused', () => {
  const prepare = (userData: unknown): unknown =>
    typedHandler(kernels, 'lent_factor_v3').prepare({ ...shape, userData: userData as never })
  test.each([
    [5, /must be an array/],
    [[null], /the type of userData 0/],
    [[{ type: 0n, data: x }], /must be a registered type or its id/],
    [[{ type, data: 5 }], /the data of userData 0/],
    [[{ type, data: 0n }], /the data of userData 0/],
    [
      [
        { type, data: x },
        { type: type.id, data: y },
      ],
      /must not have the type of userData 0/,
    ],
  ])('%#', (userData, message) => {
    expect(() => prepare(userData)).toThrow(ArgumentError)
    expect(() => prepare(userData)).toThrow(message)
  })
})

describe.each(['v1', 'v2', 'v3', 'v4'])('memory for a handler of %s', (version) => {
  const handler = typedHandler(kernels, `reverse_in_scratch_${version}`)
  const prepare = (forget: boolean, hostScratch: boolean, alignment = 16): PreparedCall =>
    handler.prepare({ ...shape, hostScratch, attrs: { alignment: s64(alignment), forget: pred(forget) } })

  test('2.9: is refused on the Host, as in XLA', () => {
    using call = prepare(false, false)
    expect(() => call.run([x], [y])).toThrow(InvalidArgumentError as never)
    expect(() => call.run([x], [y])).toThrow(/GPU context is not available/)
  })

  test('is given with hostScratch, and freed with the run', async () => {
    using call = prepare(false, true)
    call.run([x], [y])
    expect(y.toArray()).toEqual([3, 2, 1])
    using forgetful = prepare(true, true)
    for (let i = 0; i < 1000; i++) forgetful.run([x], [y])
    using bound = forgetful.bind([y], [y])
    bound.run()
    await forgetful.runAsync([x], [y])
    expect(y.toArray()).toEqual([3, 2, 1])
  })

  test('2.9: must have an alignment that is a power of two of at most 16', () => {
    for (const alignment of [0, 3, 32]) {
      using call = prepare(false, true, alignment)
      expect(() => call.run([x], [y])).toThrow(`Unsupported alignment: ${alignment}`)
    }
  })
})

describe('a call by name', () => {
  test('accepts resources only for typed targets', () => {
    const registry = new TargetRegistry()
    registry.registerTyped('factor', { execute: { library: kernels, symbol: 'lent_factor_v2' } })
    registry.registerUntyped('plain', { library: kernels, symbol: 'do_custom_call' })
    const factor = tensor('f32', [1], [2])
    using call = registry.prepare('factor', { ...shape, userData: [{ type, data: factor }] })
    call.run([x], [y])
    expect(y.toArray()).toEqual([2, 4, 6])
    expect(() => registry.prepare('plain', { ...shape, userData: [] })).toThrow(/must not have the option "userData"/)
    expect(() => registry.prepare('plain', { ...shape, hostScratch: true })).toThrow(ArgumentError)
    expect(() => registry.prepare('factor', { ...shape, stream: 0n })).toThrow(
      /stream must not be given to factor, which runs on the Host/,
    )
    for (const name of ['factor', 'plain']) registry.unregister(name)
  })
})

test('nothing is left behind', () => {
  expect(f32([3])).toBe(x.type)
  expect(liveObjects()).toEqual({ errors: 0, futures: 0 })
})
