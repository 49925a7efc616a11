import { ArgumentError, LoadError, NativeLibrary, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import {
  AlreadyExistsError,
  ApiVersion,
  f32,
  InvalidArgumentError,
  NotFoundError,
  s64,
  TargetRegistry,
  targets,
  TypedHandler,
  UnimplementedError,
  UntypedFunction,
  VersionSkewError,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { describe, expect, test } from 'vitest'
import { filled, kernels, thrownBy } from './kernels.ts'

const runtime = NativeLibrary.open(kernelLibrary('kernels_runtime'))
const symbol = (name: string, library: NativeLibrary = kernels): { library: NativeLibrary; symbol: string } => ({
  library,
  symbol: name,
})
const { ORIGINAL, STATUS_RETURNING, STATUS_RETURNING_UNIFIED, TYPED_FFI } = ApiVersion
const [b, c] = [filled([128], () => 1), filled([2048], (i) => i)]
const addShape = { operands: [b, c], results: [f32([2048])] }

describe('untyped targets', () => {
  test('are found by their exact name and platform', () => {
    const registry = new TargetRegistry()
    const add = registry.registerUntyped('add', symbol('do_custom_call'))
    expect(registry.lookup('add')).toBe(add)
    expect(add).toMatchObject({ name: 'add', platform: 'Host', apiVersion: ORIGINAL })
    expect(registry.lookup('add', { platform: 'host' })).toBeUndefined()
    expect(registry.lookup('Add')).toBeUndefined()
    const a = tensor('f32', [2048])
    using call = registry.prepare('add', addShape)
    call.run([b, c], [a])
    expect(a.toArray()[5]).toBe(6)
  })

  test('can be registered again, for another platform, and under another name', () => {
    const registry = new TargetRegistry()
    const add = registry.registerUntyped('add', symbol('do_custom_call'))
    expect(registry.registerUntyped('add', symbol('do_custom_call'))).toBe(add)
    expect(registry.registerUntyped('plus', symbol('do_custom_call'))).not.toBe(add)
    const device = registry.registerUntyped('add', symbol('device_sums', runtime), { platform: 'CUDA' })
    expect(registry.lookup('add', { platform: 'CUDA' })).toBe(device)
  })

  test('are refused with another address or version, without printing or ending the process', () => {
    const registry = new TargetRegistry()
    const add = registry.registerUntyped('add', symbol('do_custom_call'))
    const other = (): unknown => registry.registerUntyped('add', symbol('split'))
    expect(other).toThrow(AlreadyExistsError)
    expect(other).toThrow(/add was refused with ALREADY_EXISTS: .*registered for Host already, with another address/)
    expect(() => registry.registerUntyped('add', symbol('do_custom_call'), { apiVersion: STATUS_RETURNING })).toThrow(
      /with another API version/,
    )
    expect(registry.lookup('add')).toBe(add)
  })

  test('are undefined if they are missing, and are listed by platform', () => {
    const registry = new TargetRegistry()
    expect(registry.lookup('nothing')).toBeUndefined()
    expect([...registry.list()]).toStrictEqual([])
    const add = registry.registerUntyped('add', symbol('do_custom_call'))
    const norm = registry.registerTyped('norm', { execute: symbol('rms_norm') }, { platform: 'cpu' })
    registry.registerUntyped('sums', symbol('device_sums', runtime), { platform: 'ROCM' })
    expect([...registry.list('Host')]).toStrictEqual([
      ['add', add],
      ['norm', norm],
    ])
    expect([...registry.list('ROCM').keys()]).toStrictEqual(['sums'])
    expect([...registry.list('host').keys()]).toStrictEqual(['norm'])
  })

  test('can be registered by address', () => {
    const registry = new TargetRegistry()
    registry.registerUntyped('add', kernels.symbol('do_custom_call'))
    using call = registry.prepare('add', addShape)
    expect(call.operandTypes.length).toBe(2)
  })
})

describe('unregistering', () => {
  test('is required before a library with targets is closed', () => {
    const registry = new TargetRegistry()
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    registry.registerUntyped('add', symbol('do_custom_call', library))
    registry.registerTyped('norm', { execute: symbol('rms_norm', library) })
    expect(() => library.close()).toThrow(ScopeHeldError)
    expect(registry.unregister('add')).toBe(true)
    expect(() => library.close()).toThrow(/it is used by 1 hold/)
    expect(registry.unregister('norm', { platform: 'CPU' })).toBe(true)
    library.close()
  })

  test('frees the name', () => {
    const registry = new TargetRegistry()
    registry.registerUntyped('add', symbol('do_custom_call'))
    expect(registry.unregister('add', { platform: 'CUDA' })).toBe(false)
    expect(registry.unregister('add')).toBe(true)
    expect(registry.unregister('add')).toBe(false)
    expect(registry.lookup('add')).toBeUndefined()
    registry.registerUntyped('add', symbol('split'))
  })

  test('is not required after a refused registration', () => {
    const registry = new TargetRegistry()
    const library = NativeLibrary.open(kernelLibrary('kernels'))
    registry.registerTyped('norm', { execute: symbol('rms_norm') })
    expect(() => registry.registerTyped('norm', { execute: symbol('saxpy', library) })).toThrow(InvalidArgumentError)
    expect(() => registry.registerTyped('new', { execute: symbol('twice_v5', library) })).toThrow(VersionSkewError)
    library.close()
  })
})

describe('typed targets', () => {
  test('are found by platform without case, and by its short name', () => {
    const registry = new TargetRegistry()
    const norm = registry.registerTyped('norm', { execute: symbol('rms_norm') })
    for (const platform of ['Host', 'host', 'HOST', 'cpu', 'CPU']) {
      expect(registry.lookup('norm', { platform })).toBe(norm)
      expect(() => registry.registerTyped('norm', { execute: symbol('saxpy') }, { platform })).toThrow(
        InvalidArgumentError,
      )
    }
    expect(registry.lookup('norm', { platform: 'gpu' })).toBeUndefined()
    const device = registry.registerTyped('norm', { execute: symbol('saxpy') }, { platform: 'gpu' })
    expect(registry.lookup('norm', { platform: 'CUDA' })).toBe(device)
    registry.registerTyped('norm', { execute: symbol('saxpy') }, { platform: 'toaster' })
  })

  test('must equal their duplicates, first in metadata', () => {
    const registry = new TargetRegistry()
    const norm = registry.registerTyped('norm', { execute: symbol('rms_norm') })
    expect(registry.registerTyped('norm', { execute: symbol('rms_norm') })).toBe(norm)
    expect(() => registry.registerTyped('norm', { execute: symbol('weighted_sum') })).toThrow(
      /Duplicate FFI handler registration for norm on platform Host \(canonical host\) with different/,
    )
    expect(() => registry.registerTyped('norm', { execute: symbol('saxpy') })).toThrow(/with different metadata/)
    expect(() => registry.registerTyped('norm', { execute: symbol('call_function') })).toThrow(
      /with different bundle addresses/,
    )
  })

  test('are refused with a wrong version when they are registered', () => {
    const registry = new TargetRegistry()
    expect(() => registry.registerTyped('new', { execute: symbol('twice_v5') })).toThrow(VersionSkewError)
    registry.registerTyped('new', { execute: symbol('twice_v5') }, { allowNewerApi: true })
  })

  test('require execute, combine traits, and are found by canonical platform', () => {
    const registry = new TargetRegistry()
    expect(() => registry.registerTyped('none', {} as never)).toThrow(/must provide an execute implementation/)
    expect(() => registry.registerTyped('none', null as never)).toThrow(InvalidArgumentError)
    const made = registry.registerTyped(
      'norm',
      { execute: symbol('rms_norm') },
      { platform: 'CPU', commandBufferCompatible: true },
    )
    expect(made.metadata.commandBufferCompatible).toBe(true)
    expect(registry.lookup('norm')).toBe(made)
    expect(() => registry.registerTyped('norm', { execute: symbol('rms_norm') })).toThrow(/different metadata/)
  })

  test('keep the state of their stages', () => {
    const registry = new TargetRegistry()
    const bundle = { execute: symbol('counter_v3'), instantiate: symbol('counter_v3_instantiate') }
    registry.registerTyped('counter', bundle)
    const count = tensor('s64', [])
    using call = registry.prepare('counter', { results: [count], attrs: { start: s64(3) } })
    call.run([], [count])
    call.run([], [count])
    expect(count.toArray()).toStrictEqual([4n])
  })

  test('can be registered for unknown platforms, but not called', () => {
    const registry = new TargetRegistry()
    registry.registerTyped('norm', { execute: symbol('rms_norm') }, { platform: 'TPU' })
    expect(registry.lookup('norm', { platform: 'tpu' })).toBeDefined()
    expect(() => registry.prepare('norm', { platform: 'TPU' })).toThrow(UnimplementedError as never)
    registry.unregister('norm', { platform: 'tpu' })
  })
})

describe('calls by name', () => {
  const registry = new TargetRegistry()
  registry.registerUntyped('add', symbol('do_custom_call'))
  registry.registerUntyped('status', symbol('set_status', runtime), { apiVersion: STATUS_RETURNING_UNIFIED })
  registry.registerTyped('norm', { execute: symbol('rms_norm') })
  registry.registerTyped('$norm', { execute: symbol('rms_norm') })

  test('quote XLA for an unknown target of each convention', () => {
    const find = (options: object): unknown => thrownBy(() => registry.prepare('nothing', options))
    expect(find({})).toBeInstanceOf(NotFoundError)
    expect(String(find({}))).toMatch(/No FFI handler registered for nothing on a platform Host \(canonical host\)/)
    expect(String(find({ apiVersion: ORIGINAL }))).toMatch(
      /No registered implementation for untyped custom call to nothing for Host/,
    )
    expect(find({ platform: 'CUDA' })).toBeInstanceOf(UnimplementedError)
    expect(find({ platform: 'CUDA', apiVersion: ORIGINAL })).toBeInstanceOf(NotFoundError)
  })

  test('are refused with another version than the registered one', () => {
    expect(() => registry.prepare('add', { ...addShape, apiVersion: STATUS_RETURNING })).toThrow(
      /add is registered with API_VERSION_ORIGINAL, it cannot be called with API_VERSION_STATUS_RETURNING/,
    )
    expect(() => registry.prepare('add', { ...addShape, apiVersion: TYPED_FFI })).toThrow(InvalidArgumentError)
    expect(() => registry.prepare('norm', { apiVersion: ORIGINAL })).toThrow(/registered with API_VERSION_TYPED_FFI/)
    registry.prepare('add', { ...addShape, apiVersion: ORIGINAL }).close()
  })

  test('are refused with names that are empty or start with $', () => {
    expect(() => registry.prepare('$norm', {})).toThrow(/Call targets that start with '\$' are reserved/)
    expect(registry.lookup('$norm')).toBeInstanceOf(TypedHandler)
    expect(() => registry.registerTyped('', { execute: symbol('rms_norm') })).toThrow(ArgumentError)
    expect(() => registry.registerUntyped('', symbol('split'))).toThrow(ArgumentError)
    expect(() => registry.registerUntyped(5 as never, symbol('split'))).toThrow(ArgumentError)
  })

  test('are refused with options of another convention', () => {
    expect(() => registry.prepare('add', { ...addShape, attrs: { a: 1n } })).toThrow(/must not have the option "attrs"/)
    expect(() => registry.prepare('norm', { opaque: '' })).toThrow(/must not have the option "opaque"/)
    const call = registry.prepare('status', { opaque: 'F' })
    expect(() => call.run([], [])).toThrow(/status answered INTERNAL: F/)
    call.close()
  })

  test.each([
    ['no code', 5],
    ['a null address', 0n],
    ['a negative address', -1n],
    ['nothing', undefined],
    ['no library', { library: {}, symbol: 'split' }],
    ['no symbol', { library: kernels }],
  ])('%s is refused', (_, code) => {
    expect(() => registry.registerUntyped('new', code as never)).toThrow(ArgumentError)
    expect(registry.lookup('new')).toBeUndefined()
  })

  test('are refused with unknown symbols, platforms and versions', () => {
    expect(() => registry.registerUntyped('new', symbol('no_such_function'))).toThrow(LoadError)
    expect(() => registry.registerUntyped('new', symbol('split'), { platform: 'cuda' as never })).toThrow(ArgumentError)
    expect(() => registry.registerUntyped('new', symbol('split'), { apiVersion: 0 as never })).toThrow(
      InvalidArgumentError,
    )
    expect(registry.lookup('new', { platform: 'cuda' })).toBeUndefined()
  })

  test('find targets that know their convention', () => {
    expect(registry.lookup('norm', { apiVersion: TYPED_FFI })).toBeInstanceOf(TypedHandler)
    expect(registry.lookup('norm', { apiVersion: ORIGINAL })).toBeUndefined()
    expect(registry.lookup('status', { apiVersion: STATUS_RETURNING_UNIFIED })).toBeInstanceOf(UntypedFunction)
    expect(registry.lookup('status', { apiVersion: ORIGINAL })).toBeUndefined()
  })
})

describe('TypeScript functions', () => {
  test('are typed targets of the Host, with types for their tensors', () => {
    const registry = new TargetRegistry()
    const made = registry.registerFunction('first', '(x: f32[2]) -> (y: s32)', ([x], [y]) => {
      y.segment.view().setInt32(0, Number(x.toArray()[0]), true)
    })
    expect(registry.lookup('first')).toBe(made)
    const y = tensor('s32', [])
    using call = registry.prepare('first', { operands: [f32([2])], results: [y] })
    call.run([filled([2], () => 42)], [y])
    expect(y.toArray()).toStrictEqual([42])
    expect(() => registry.registerFunction('first', '() -> ()', () => {})).toThrow(/different bundle/)
    expect(registry.unregister('first')).toBe(true)
    expect(() => call.run([filled([2], () => 1)], [y])).toThrow(ScopeClosedError)
  })

  test('stay registered while they run', () => {
    const registry = new TargetRegistry()
    let error: unknown
    registry.registerFunction('mine', '() -> ()', () => {
      error = thrownBy(() => registry.unregister('mine'))
    })
    using call = registry.prepare('mine', {})
    call.run([], [])
    expect(error).toBeInstanceOf(ScopeHeldError)
    expect(registry.lookup('mine')).toBeInstanceOf(TypedHandler)
    registry.unregister('mine')
  })
})

describe('the default registry', () => {
  test('finds handlers that libraries registered themselves, unlike other registries', () => {
    const x = filled([2], (i) => i + 1)
    using call = targets.prepare('negate', { operands: [x], results: [x] })
    call.run([x], [x])
    expect(x.toArray()).toStrictEqual([-1, -2])
    expect(targets.lookup('negate')).toBeInstanceOf(TypedHandler)
    expect(new TargetRegistry().lookup('negate')).toBeUndefined()
    expect(targets.list('CPU').get('negate')).toBeInstanceOf(TypedHandler)
    expect(new TargetRegistry().list().size).toBe(0)
  })

  test('refuses a name that a library has registered', () => {
    expect(() => targets.registerTyped('negate', { execute: symbol('rms_norm') })).toThrow(/Duplicate FFI handler/)
    expect(targets.unregister('negate')).toBe(false)
  })
})
