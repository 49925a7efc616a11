import { TenonError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope } from '../src/index.ts'
import { finish, ofSegments, others, type Place } from './support/inputs.ts'

const detached = new Uint8Array(16)
detached.buffer.transfer(0)

/** The values that replace each argument in turn. Some are valid in some places, where the call succeeds. */
const values: Record<string, unknown> = {
  undefined,
  null: null,
  NaN: Number.NaN,
  infinity: Infinity,
  'a fraction': 1.5,
  'minus one': -1,
  '2^31': 2 ** 31,
  '2^32': 2 ** 32,
  '2^53': 2 ** 53,
  '-1n': -1n,
  '2n^64': 2n ** 64n,
  true: true,
  'a text': 'text',
  'a symbol': Symbol('any'),
  'an object': {},
  'an array': [],
  'a function': () => {},
  'an object without a prototype': Object.create(null),
  'a detached buffer': detached.buffer,
  'a detached view': detached,
  'a resizable buffer': new ArrayBuffer(8, { maxByteLength: 16 }),
  'a promise': Promise.resolve(1),
}

function place(): Place {
  const scope = NativeScope.ofConfined()
  const shared = NativeScope.ofShared()
  return { scope, shared, segment: scope.allocate(64, 64), other: scope.allocate(64, 64) }
}

/** The thrown error, if it is not a TenonError. */
async function foreignError(run: () => unknown): Promise<unknown> {
  try {
    await run()
    return undefined
  } catch (error) {
    return error instanceof TenonError ? undefined : error
  }
}

describe('an unsuitable argument in any place is accepted, or refused with a TenonError', () => {
  for (const [name, { good, call }] of Object.entries({ ...ofSegments, ...others })) {
    test(name, async () => {
      const here = place()
      const count = good(here).length
      expect(() => call(here, good(here) as never[])).not.toThrow()
      const foreign: string[] = []
      for (let at = 0; at < count; at++) {
        for (const [what, value] of Object.entries(values)) {
          const given = good(here).with(at, value)
          const error = await foreignError(() => call(here, given as never[]))
          if (error !== undefined) foreign.push(`argument ${at} is ${what}: ${error as Error}`)
        }
      }
      expect(foreign).toEqual([])
      // Whatever the arguments were, the scope still works.
      expect(here.scope.allocate(8).setInt32(0, 1)).toBeUndefined()
      expect(here.shared.allocate(8).getInt32(0)).toBe(0)
      finish(here.shared)
      finish(here.scope)
    })
  }

  test('the table has every method of a segment that takes arguments', () => {
    const names: string[] = []
    for (
      let type = MemorySegment.prototype as object;
      type !== Object.prototype;
      type = Object.getPrototypeOf(type) as object
    ) {
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type))) {
        if (typeof value === 'function' && value.length > 0 && name !== 'constructor') names.push(name)
      }
    }
    expect([...new Set(names)].filter((name) => !(name in ofSegments))).toEqual([])
  })
})
