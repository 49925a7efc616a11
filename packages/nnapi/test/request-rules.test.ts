import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { validateRequest } from '../src/index.ts'
import { argument, brokenRequests, model, request, validRequests } from './request-cases.ts'
import { facts } from './support.ts'

describe('requests', () => {
  test('the request that the other tests change is valid', () => {
    expect(validateRequest(model, request())).toBeUndefined()
  })

  test.each(brokenRequests)('%s is refused', (_, rule, given, wrong) => {
    const violation = validateRequest(given, wrong)
    expect({ rule: violation?.rule, status: violation?.status }).toEqual({ rule, status: 'INVALID_ARGUMENT' })
    expect(violation!.path).toMatch(/^(inputs|outputs)/)
  })

  test.each(validRequests)('%s is allowed', (_, given, right) => {
    expect(validateRequest(given, right)).toBeUndefined()
  })

  test('unaligned values are refused only with strictAlignment', () => {
    const unaligned = request({ inputs: [argument({ location: { offset: 2 } })] })
    expect(validateRequest(model, unaligned)).toBeUndefined()
    expect(validateRequest(model, unaligned, { strictAlignment: true })?.rule).toBe('M11')
  })

  test('the end of a value agrees with exact arithmetic at every edge', () => {
    const edges = [
      0,
      1,
      15,
      16,
      17,
      4080,
      4096,
      2 ** 31 - 1,
      2 ** 31,
      2 ** 32 - 16,
      2 ** 32 - 1,
      2 ** 32,
      2 ** 53 - 1,
      2 ** 53,
      -1,
      -0,
      0.5,
      Number.NaN,
      Infinity,
    ]
    const edge = fc.oneof(fc.constantFrom(...edges), fc.integer({ min: -5, max: 5000 }))
    fc.assert(
      fc.property(edge, edge, fc.constantFrom(1, 16, 4096, 2 ** 32 - 1), (offset, padding, byteSize) => {
        const given = request({
          inputs: [argument({ location: { offset, padding } })],
          outputs: [argument({ location: { poolIndex: 1 } })],
          pools: [facts({ byteSize }), facts({ identity: '2:2' })],
        })
        const isU32 = (value: number): boolean =>
          Number.isInteger(value) && !Object.is(value, -0) && value >= 0 && value <= 0xffff_ffff
        const fits = isU32(offset) && isU32(padding) && BigInt(offset) + 16n + BigInt(padding) <= BigInt(byteSize)
        expect(validateRequest(model, given) === undefined).toBe(fits)
      }),
      { numRuns: 2000 },
    )
  })
})
