import { describe, expect, test } from 'vitest'
import { callNamed, isProfiling } from '../src/tracing/named-call.ts'

describe('callNamed()', () => {
  test('calls a function with its arguments, and returns its result', () => {
    expect(callNamed('add', (a: number, b: number) => a + b, 1, 2)).toBe(3)
  })

  test.each(['softmax', 'ns.op-name', 'with "quotes" and \\', '__proto__', '', 'Größe 😀', 'a\nb'])(
    'has %j in the stack of the function',
    (name) => {
      const prepare = Error.prepareStackTrace
      Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFunctionName() ?? '')
      try {
        const names = callNamed(name, () => new Error('here').stack) as unknown as string[]
        expect(names[1]).toBe(name)
      } finally {
        Error.prepareStackTrace = prepare
      }
    },
  )

  test('throws what the function throws', () => {
    const error = new RangeError('no')
    expect(() =>
      callNamed('fails', () => {
        throw error
      }),
    ).toThrow(error)
  })

  test('keeps a bounded number of functions', () => {
    for (let i = 0; i < 5000; i++) expect(callNamed(`name ${i % 1500}`, (value: number) => value, i)).toBe(i)
  })
})

describe('isProfiling()', () => {
  test.each([
    '--cpu-prof',
    '--prof',
    '--perf-basic-prof',
    '--perf-basic-prof-only-functions',
    '--inspect=0',
    '--inspect-brk',
  ])('is true with %s', (flag) => {
    expect(isProfiling({}, [flag])).toBe(true)
    expect(isProfiling({ NODE_OPTIONS: `--no-warnings ${flag}` }, [])).toBe(true)
  })

  test('is false without such flags, and TENON_PROFILE wins', () => {
    expect(isProfiling({ NODE_OPTIONS: '--no-warnings' }, ['--enable-source-maps', '--process-title=--prof'])).toBe(
      false,
    )
    expect(isProfiling({ TENON_PROFILE: '1' }, [])).toBe(true)
    expect(isProfiling({ TENON_PROFILE: '0' }, ['--cpu-prof'])).toBe(false)
  })
})
