import { afterEach, describe, expect, it } from 'vitest'
import type { PackedFuncError } from '../src/index.ts'
import {
  getGlobal,
  initApi,
  listGlobalNames,
  Module,
  packedFunc,
  registerGlobal,
  removeGlobal,
  t,
  tryGetGlobal,
  typedFunc,
} from '../src/index.ts'
import { live, thrownBy } from './support.ts'

const names = ['test.registry.f', 'test.registry.g', 'test.registry.deep.h', 'test.registryx.i']
afterEach(() => names.forEach((name) => removeGlobal(name)))

describe('global functions', () => {
  it('are registered and found', () => {
    registerGlobal('test.registry.f', (x: number) => 2 * x)
    expect(getGlobal('test.registry.f')(21)).toBe(42)
    expect(listGlobalNames()).toContain('test.registry.f')
  })

  it('a name is taken once, unless it is overridden', () => {
    registerGlobal('test.registry.f', () => 1)
    const error = thrownBy(() => registerGlobal('test.registry.f', () => 2)) as PackedFuncError
    expect(error.kind).toBe('RuntimeError')
    expect(error.sentence).toBe('Global Function `test.registry.f` is already registered')
    registerGlobal(
      'test.registry.f',
      packedFunc(() => 3),
      { override: true },
    )
    expect(getGlobal('test.registry.f')()).toBe(3)
  })

  it('getGlobal throws for a missing name, tryGetGlobal returns undefined', () => {
    const error = thrownBy(() => getGlobal('test.registry.f')) as PackedFuncError
    expect(error.kind).toBe('ValueError')
    expect(error.sentence).toBe('Function test.registry.f not found')
    expect(tryGetGlobal('test.registry.f')).toBeUndefined()
    expect(() => getGlobal('')).toThrow('name must be')
  })

  it('refuse options that do not exist', () => {
    const refuse = (run: () => unknown): string => (thrownBy(run) as Error).message
    expect(refuse(() => registerGlobal('test.registry.f', () => 1, { overide: true } as never))).toContain('override')
    expect(refuse(() => packedFunc(() => 1, { relai: true } as never))).toContain('relay')
    expect(refuse(() => packedFunc(() => 1, { relay: { timeOut: 1 } } as never))).toContain('timeout')
    expect(refuse(() => typedFunc([], () => {}, { nam: 'x' } as never))).toContain('name')
    expect(refuse(() => Module.open('lib.so', { legasy: true } as never))).toContain('legacy')
    expect(tryGetGlobal('test.registry.f')).toBeUndefined()
  })

  it('can be removed while they are held', () => {
    const held = registerGlobal('test.registry.f', () => 'here')
    expect(removeGlobal('test.registry.f')).toBe(true)
    expect(removeGlobal('test.registry.f')).toBe(false)
    expect(tryGetGlobal('test.registry.f')).toBeUndefined()
    expect(held()).toBe('here')
    held.close()
  })

  it('leak nothing when they are removed', () => {
    const before = live()
    for (let i = 0; i < 200; i++) {
      registerGlobal('test.registry.f', () => i).close()
      removeGlobal('test.registry.f')
    }
    expect(live()).toEqual(before)
  })
})

describe('initApi', () => {
  it('attaches the functions directly below the prefix', () => {
    for (const name of names) registerGlobal(name, () => name)
    const api = initApi('test.registry')
    expect(Object.keys(api).toSorted()).toEqual(['f', 'g'])
    expect(api['f']!()).toBe('test.registry.f')
    expect(api['f']!.name).toBe('f')
  })

  it('attaches typed functions for a schema', () => {
    registerGlobal('test.registry.f', (a: number, b: number) => a + b)
    registerGlobal('test.registry.g', () => 'untyped')
    const api = initApi('test.registry', {}, { f: [[t.int, t.int], t.int] })
    expect(api.f(1, 2)).toBe(3)
    expect(api['g']!()).toBe('untyped')
    const error = thrownBy(() => api.f(1, 'x' as never)) as PackedFuncError
    expect(error.sentence).toContain('`test.registry.f(0: int, 1: int) -> int`')
    expect(() => initApi('test.registry', {}, { absent: [[], t.none] })).toThrow(
      'Function test.registry.absent not found',
    )
    expect(() => initApi('test.registry', {}, null as never)).toThrow('schema must be an object')
  })

  it('accepts a target and a leading tvm.', () => {
    registerGlobal('test.registry.f', () => 1)
    const target = { own: 1 }
    const api = initApi('tvm.test.registry', target)
    expect(api).toBe(target)
    expect(api['f']!()).toBe(1)
    expect(() => initApi('x', null as never)).toThrow('target must be')
  })
})
