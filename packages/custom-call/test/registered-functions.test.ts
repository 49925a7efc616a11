import { NativeLibrary, tensor } from '@tenon/core'
import {
  ApiVersion,
  f32,
  NotFoundError,
  refusedNames,
  registeredFunction,
  registeredNames,
  s64,
  TargetRegistry,
  targets,
  TypedHandler,
  UntypedFunction,
  type XlaError,
} from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { expect, test } from 'vitest'
import { filled, thrownBy } from './kernels.ts'

NativeLibrary.open(kernelLibrary('kernels_macro'))
NativeLibrary.open(kernelLibrary('kernels_compiled_macro'))
const [b, c] = [filled([128], () => 1), filled([2048], (i) => i)]

/** The values that a run writes for four zeros. */
function resultOf(target: UntypedFunction): unknown {
  const [x, y] = [tensor('f32', [4]), tensor('f32', [4])]
  using call = target.prepare({ operands: [x], results: [y] })
  call.run([x], [y])
  return y.toArray()
}

test('a function that registers itself with the macro of XLA is found by its name, though it is not exported', () => {
  const a = tensor('f32', [2048])
  const add = registeredFunction('macro_add')
  using call = add.prepare({ operands: [b, c], results: [f32([2048])] })
  call.run([b, c], [a])
  expect([a.toArray()[5], String(add)]).toEqual([6, 'UntypedFunction macro_add (API_VERSION_ORIGINAL, Host)'])
  using byName = targets.prepare('macro_twice', { operands: [b, c], results: [f32([2048])] })
  byName.run([b, c], [a])
  expect(a.toArray()[2047]).toBe(2048)
})

test('a function has the convention that the caller states', () => {
  const x = tensor('f32', [1])
  const failing = targets.lookup('macro_failing', { apiVersion: ApiVersion.STATUS_RETURNING })!
  expect(failing).toBeInstanceOf(UntypedFunction)
  using call = failing.prepare({ operands: [], results: [x] })
  expect(() => call.run([], [x])).toThrow("the macro's function fails")
  const device = registeredFunction('macro_add', { platform: 'CUDA', apiVersion: ApiVersion.STATUS_RETURNING })
  expect(String(device)).toBe('UntypedFunction macro_add (API_VERSION_STATUS_RETURNING, CUDA)')
})

test('a library finds the functions of its own registry', () => {
  const found = tensor('s64', [2])
  using call = registeredFunction('macro_look_up').prepare({ operands: [], results: [s64([2])] })
  call.run([], [found])
  expect(found.toArray()).toEqual([1n, 0n])
})

test('an object that was compiled with the header of XLA itself registers its functions', () => {
  expect(resultOf(registeredFunction('compiled_macro'))).toEqual([1, 1, 1, 1])
  const long = 'compiled_macro_with_a_name_that_is_too_long_for_the_string_itself'
  expect(resultOf(targets.lookup(long) as UntypedFunction)).toEqual([1, 1, 1, 1])
})

test('registered functions are listed, and the second function of a name is refused', () => {
  const named = registeredNames().filter(({ name }) => name.startsWith('macro_'))
  expect(named).toEqual(
    [
      ['macro_add', 'CUDA'],
      ['macro_add', 'Host'],
      ['macro_failing', 'Host'],
      ['macro_look_up', 'Host'],
      ['macro_twice', 'Host'],
    ].map(([name, platform]) => ({ name, platform, convention: 'untyped' })),
  )
  expect(refusedNames().filter(({ name }) => name.startsWith('macro_'))).toEqual([
    {
      name: 'macro_twice',
      platform: 'Host',
      convention: 'untyped',
      reason: 'another function is registered as macro_twice for Host',
      version: undefined,
    },
  ])
  expect([...targets.list().keys()].filter((name) => name.startsWith('macro_'))).toHaveLength(4)
  expect([...targets.list('CUDA').keys()]).toContain('macro_add')
  expect(new TargetRegistry().lookup('macro_add')).toBeUndefined()
})

test('a typed handler is preferred to a function of the same name', () => {
  NativeLibrary.open(kernelLibrary('kernels_runtime'))
  expect(targets.list().get('negate')).toBeInstanceOf(TypedHandler)
  expect(targets.lookup('negate')).toBeInstanceOf(TypedHandler)
  expect(targets.lookup('negate', { apiVersion: ApiVersion.ORIGINAL })).toBeInstanceOf(UntypedFunction)
})

test('a name that no library has registered is refused, with similar names', () => {
  const error = thrownBy(() => registeredFunction('macro_ad')) as XlaError
  expect(error).toBeInstanceOf(NotFoundError)
  expect(error.message).toContain('No registered implementation for untyped custom call to macro_ad for Host')
  expect(error.hint).toContain('macro_add')
  expect(() => registeredFunction('macro_look_up', { platform: 'CUDA' })).toThrow(NotFoundError)
  expect(() => registeredFunction('macro_add', { platform: 'host' as 'Host' })).toThrow(
    "platform must be 'CUDA' or 'ROCM'",
  )
  expect(() => registeredFunction('')).toThrow('name must')
  expect(() => registeredFunction('macro_add', { apiVersion: 4 as never })).toThrow('macro_add')
  expect(() => targets.prepare('macro_ad', { operands: [], results: [] })).toThrow(NotFoundError)
})
