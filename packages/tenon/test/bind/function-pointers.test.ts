import { rmSync } from 'node:fs'
import { ScopeClosedError } from '@tenon/core'
import { NativeScope } from '@tenon/scope'
import type { Handle } from '@tenon/scope/bind'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bound, compileStore } from './bound-store.ts'

const { directory, annotations, bind, load } = compileStore()
afterAll(() => rmSync(directory, { recursive: true }))

let bound: Bound

beforeAll(async () => {
  expect(bind('--annotations', annotations, '--output', 'store').code).toBe(0)
  bound = await load('store')
})

const live = (): number => bound['store_live']() as number

describe('a table', () => {
  test('has a method for each function pointer, whose statuses are objects', () => {
    const before = live()
    const api = bound['api'].of(bound['get_api']())
    const made = api.make(1) as Handle
    for (const value of [1, 2, 3]) expect(api.put(made, value)).toBeUndefined()
    expect(() => api.make(2)).toThrow('api.make returned 2: two is refused')
    expect(() => api.put(made, 5)).toThrow('api.put returned 4: failed')
    made.close()
    expect(() => api.put(made, 1)).toThrow(ScopeClosedError)
    expect(live()).toBe(before)
  })

  test('names a function that the library does not have', () => {
    const api = bound['api'].of(bound['get_api']())
    expect(() => api.missing(1)).toThrow('api.missing is null')
  })

  test('reads a pointer at every call if it is volatile', () => {
    const api = bound['api'].of(bound['get_api']())
    expect(api.twice(5)).toBe(10)
    bound['set_twice'](true)
    expect(api.twice(5)).toBe(15)
    bound['set_twice'](false)
    expect(api.twice(5)).toBe(10)
  })

  test('has .async for a function pointer', async () => {
    const api = bound['api'].of(bound['get_api']())
    await expect(api.twice.async(21)).resolves.toBe(42)
  })

  test('can be filled with functions of TypeScript, which end with the scope of its memory', () => {
    const scope = NativeScope.ofConfined()
    const Api = bound['api']
    const api = Api.allocate(scope)
    Api.assign(api, { twice: (value: number) => value * 20, close: null })
    expect(bound['call_twice'](api, 3)).toBe(60)
    expect(api.twice(4)).toBe(80)
    expect(() => Api.assign(api, { thrice: () => 1 })).toThrow('Did you mean twice?')
    expect(() => Api.assign(api, { twice: 5 })).toThrow('twice must be a function, a segment or null, got 5')
    const { address } = api.segment
    scope.close()
    expect(() => bound['call_twice'](api, 3)).toThrow(ScopeClosedError)
    expect(address).not.toBe(0n)
  })
})
