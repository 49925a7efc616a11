import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ArgumentError } from '@tenon/core'
import { checkOptions, inspectAsText, isPlainObject, isRevoked } from '@tenon/core/internal'

interface Options {
  readonly allocator?: string
  readonly timeout?: number
}

const check = (options: unknown): Partial<Options> =>
  checkOptions<Options>(options as Options, ['allocator', 'timeout'])

describe('checkOptions', () => {
  test('returns the options, and an empty object for undefined', () => {
    const options = { timeout: 1 }
    expect(check(options)).toBe(options)
    expect(check(undefined)).toEqual({})
    expect(check({ timeout: undefined })).toEqual({})
  })

  test.each([null, 1, 'text', true, () => {}])('%s is refused, because it is not an object', (options) => {
    expect(() => check(options)).toThrow(ArgumentError)
    expect(() => check(options)).toThrow(/^options must be an object, got /)
  })

  test('a revoked proxy is refused, and errors of other proxies reach the caller', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(() => check(proxy)).toThrow(ArgumentError)
    expect(() => check(proxy)).toThrow(/^options must be an object, got an object that cannot be read/)
    const ownKeys = (): never => {
      throw new RangeError('of a trap')
    }
    expect(() => check(new Proxy({}, { ownKeys }))).toThrow(RangeError)
    expect([{}, [], null, undefined, 1, new Proxy({}, { ownKeys }), proxy].map(isRevoked)).toEqual([
      false,
      false,
      false,
      false,
      false,
      false,
      true,
    ])
    expect([isPlainObject(proxy), isPlainObject(new Proxy({}, {}))]).toEqual([false, true])
  })

  test('an unknown option is refused with the name that is nearest', () => {
    expect(() => check({ alocator: 'x' })).toThrow(
      /must not have the option "alocator".*\nHint: Did you mean allocator\?/,
    )
    expect(() => check({ zzz: 1 })).toThrow(/Hint: The options are allocator, timeout\./)
  })

  test('the error has the names as data', () => {
    try {
      check({ zzz: 1 })
      expect.unreachable()
    } catch (error) {
      expect((error as ArgumentError).details).toEqual({
        name: 'options',
        expected: ['allocator', 'timeout'],
        received: 'zzz',
      })
    }
  })
})

test('inspectAsText prints toString() instead of fields', () => {
  class Thing {
    readonly secret = 1
    static {
      inspectAsText(this)
    }
    toString(): string {
      return `Thing ${this.secret}`
    }
  }
  expect(inspect(new Thing())).toBe('Thing 1')
  expect(inspect([new Thing()])).toBe('[ Thing 1 ]')
})
