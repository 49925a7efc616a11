import { NativeError, NativeLibrary } from '@tenon/core'
import { Callback } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { expect, test } from 'vitest'
import { fixturePath } from './fixture.ts'

// A critical function runs on the stack of JavaScript, and nothing is restored after it.

const fixture = NativeLibrary.open(fixturePath('core_fixture'))
const fastMath = fixturePath('fast_math')
const critical = { critical: true } as const

test('a critical function gets its arguments, and its result is returned', async () => {
  const add = { result: 'float64', parameters: ['float64', 'int32', 'pointer', 'pointer', 'uint8'] } as const
  const sum = fixture.function('fixture_sum', add, critical)
  const [x, n] = [Float32Array.of(3), BigInt64Array.of(4n)]
  for (let i = 0; i < 20_000; i++) expect(sum(i, 2, x, n, 5)).toBe(14 + i)
  expect(await sum.async(1, 2, x, n, 5).catch((error: unknown) => error)).toBeInstanceOf(Error)
  const identity = fixture.function('fixture_int64', { result: 'int64', parameters: ['int64'] }, critical)
  expect(identity(-(2n ** 63n))).toBe(-(2n ** 63n))
  expect(await identity.async(5)).toBe(5n)
})

test('the arguments of a critical function are checked, and so is its library', () => {
  const library = NativeLibrary.open(fixturePath('core_fixture'))
  const identity = library.function('fixture_int32', { result: 'int32', parameters: ['int32'] }, critical)
  expect(() => identity(2 ** 40)).toThrow(/fixture_int32/)
  expect(() => (identity as unknown as () => void)()).toThrow(/takes 1 arguments, got 0/)
  for (const wrong of [1, 'yes', null]) {
    expect(() => library.function('fixture_int32', {}, { critical: wrong as never })).toThrow(
      /critical must be true or false/,
    )
  }
  expect(() => library.function('fixture_int32', {}, { critcal: true } as never)).toThrow(/critical/)
  library.close()
  expect(() => identity(1)).toThrow(/closed/)
})

test('a function of TypeScript that a critical function calls does not run, and the call is an error', () => {
  const types = { result: 'int32', parameters: ['uint64', 'uint64', 'uint64'] } as const
  const [small, other] = [fixture.function('fixture_call', types, critical), fixture.function('fixture_call', types)]
  const identity = fixture.function('fixture_int32', { result: 'int32', parameters: ['int32'] }, critical)
  let calls = 0
  const callback = new Callback(() => calls++)
  const run = (call: typeof other): unknown => call(BigInt(callback.address), 0, 0)
  for (let i = 0; i < 3; i++) {
    expect(() => run(small)).toThrow(NativeError)
    expect(() => run(small)).toThrow(/fixture_call is not critical, because it called a function of TypeScript/)
    expect([identity(i), calls]).toEqual([i, i])
    expect([run(other), calls]).toEqual([0, i + 1])
  }
  // From inside a call that may call functions of TypeScript.
  const seen: unknown[] = []
  const outer = new Callback(() => {
    seen.push(identity(7), run(other))
    expect(() => run(small)).toThrow(/is not critical/)
    seen.push(identity(8))
  })
  expect(other(BigInt(outer.address), 0, 0)).toBe(0)
  expect(seen).toEqual([7, 0, 8])
  callback.release()
  outer.release()
})

test('in guard mode, a critical function that changes the floating-point modes is an error, and they are restored', async () => {
  const script = `
    import { NativeLibrary } from '@tenon/core'
    const library = NativeLibrary.open(${JSON.stringify(fastMath)})
    const flush = library.function('fast_math_flush', {}, { critical: true })
    const smallest = Number('5e-324')
    for (let i = 0; i < 3; i++) {
      try {
        flush()
      } catch (error) {
        console.log(error.message.split('\\n')[0], smallest + smallest > 0)
      }
    }
    console.log(library.function('fast_math_is_backwards', { result: 'int32' }, { critical: true })())
  `
  const line = 'fast_math_flush is not critical, because it changed the floating-point modes true\n'
  const ran = await runScript(script, { env: { TENON_DEBUG: 'guard' } })
  expect(ran).toMatchObject({ code: 0, stdout: `${line.repeat(3)}0\n` })
})
