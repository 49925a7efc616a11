import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NativeLibrary } from '@tenon/core'
import { runScript } from '@tenon/core/testing'
import { makeStub, type Stub } from '../src/native/call/stubs.ts'
import { fixturePath } from './fixture.ts'

/** The smallest number above 0, which the compiler does not know. It is 0 on a thread with flush-to-zero. */
const smallest = Number('5e-324')

/** Whether the arithmetic of this thread is that of IEEE 754. */
const hasSubnormals = (): boolean => smallest + smallest > 0

const path = fixturePath('fast_math')

describe('opening a library', () => {
  test('that sets flush-to-zero keeps subnormal numbers', () => {
    expect(hasSubnormals()).toBe(true)
    NativeLibrary.open(path)
    expect(hasSubnormals()).toBe(true)
  })

  test.each(['before', 'after'])('that sets flush-to-zero %s others keeps subnormal numbers', async (order) => {
    const script = `
      import { NativeLibrary } from '@tenon/core'
      const open = (path) => NativeLibrary.open(path)
      if (${order === 'before'}) open(${JSON.stringify(path)})
      const identity = open(${JSON.stringify(fixturePath('core_fixture'))}).function('fixture_float64', {
        result: 'float64', parameters: ['float64'],
      })
      if (${order === 'after'}) open(${JSON.stringify(path)})
      const smallest = Number('5e-324')
      const numbers = new Set()
      for (let i = 0; i < 20_000; i++) numbers.add(identity(smallest) + smallest)
      console.log(...numbers)
    `
    expect(await runScript(script)).toMatchObject({ code: 0, stdout: '1e-323\n', stderr: '' })
  })

  test('passes addresses to native code even if the thread has flush-to-zero', async () => {
    const script = `
      import { NativeLibrary, tensor } from '@tenon/core'
      try {
        // Not through NativeLibrary, so flush-to-zero stays on.
        process.dlopen({ exports: {} }, ${JSON.stringify(path)})
      } catch {}
      const sum = NativeLibrary.open(${JSON.stringify(fixturePath('core_fixture'))}).function('fixture_sum', {
        result: 'float64', parameters: ['float64', 'int32', 'pointer', 'pointer', 'uint8'],
      })
      const [x, n] = [tensor('float32', [1], [3]).segment, tensor('int64', [1], [4n]).segment]
      const sums = new Set()
      for (let i = 0; i < 20_000; i++) sums.add(sum(1, 2, x, n, 5))
      console.log(...sums, Number('5e-324') * 3)
    `
    expect(await runScript(script)).toMatchObject({ code: 0, stdout: '15 0\n', stderr: '' })
  })
})

describe('a call', () => {
  let library: NativeLibrary
  const stubs: Stub[] = []

  beforeAll(() => {
    library = NativeLibrary.open(path)
  })
  afterAll(() => {
    for (const stub of stubs) stub.close()
    library.close()
  })

  const changes = ['fast_math_flush', 'fast_math_round_down', 'fast_math_trap', 'fast_math_single'] as const
  const change = (name: (typeof changes)[number]): unknown => library.function(name, { result: 'void' })()
  const control = (): unknown => library.function('fast_math_control', { result: 'int64' })()

  /** Calls a function from a kernel that has set flush-to-zero. Returns 1 if the kernel's control bits are kept. */
  function around(run: () => void): unknown {
    const stub = makeStub({ result: 'void', parameters: [] }, () => void run(), {}, 'run')
    stubs.push(stub)
    return library.function('fast_math_around', { result: 'int32', parameters: ['uint64'] })(BigInt(stub.address))
  }

  test.each(changes)('of %s keeps the control bits of JavaScript', (name) => {
    const before = control()
    change(name)
    expect(control()).toBe(before)
    expect(hasSubnormals()).toBe(true)
    // Rounding down, the sum would be 1. With the trap, the division would end the process.
    expect([1 + Number('1.2e-16'), 1 / Number('0')]).toEqual([1.000_000_000_000_000_2, Infinity])
  })

  test.each(changes)('of %s on another thread keeps the control bits of later calls there', async (name) => {
    const before = control()
    await library.function(name, { result: 'void' }).async()
    expect(await library.function('fast_math_control', { result: 'int64' }).async()).toBe(before)
  })

  test('keeps the status bits that the function sets', () => {
    expect(library.function('fast_math_divide', { result: 'float64', parameters: ['float64'] })(1)).toBe(Infinity)
    expect(library.function('fast_math_divided', { result: 'int32' })()).toBe(1)
  })

  test('back into TypeScript has the control bits of JavaScript, and the kernel keeps its own', () => {
    const seen: boolean[] = []
    const before = control()
    for (let i = 0; i < 100; i++) {
      const kept = around(() => {
        seen.push(hasSubnormals() && control() === before)
        change('fast_math_round_down')
        seen.push(hasSubnormals(), 1 + Number('1.2e-16') > 1)
      })
      expect(kept).toBe(1)
      expect(hasSubnormals()).toBe(true)
    }
    expect(seen).toEqual(Array.from({ length: 300 }, () => true))
  })

  test('whose callback throws keeps the control bits of JavaScript', () => {
    const failing = (): never => {
      throw new Error('from TypeScript')
    }
    expect(() => around(failing)).toThrow('from TypeScript')
    expect(hasSubnormals()).toBe(true)
  })
})

describe('the direction flag that a function leaves set', () => {
  const functions = `
    import { NativeLibrary } from '@tenon/core'
    const library = NativeLibrary.open(${JSON.stringify(path)})
    const set = library.function('fast_math_backwards', { result: 'void' })
    const isSet = library.function('fast_math_is_backwards', { result: 'int32' })
  `

  test('is cleared after each call, also on another thread', async () => {
    const script = `
      ${functions}
      const bytes = Buffer.alloc(1e6, 7)
      const seen = new Set()
      for (let i = 0; i < 1000; i++) {
        set()
        seen.add(isSet()).add(Buffer.from(bytes).equals(bytes))
      }
      await set.async()
      seen.add(isSet()).add(await isSet.async())
      console.log(...seen)
    `
    expect(await runScript(script)).toMatchObject({ code: 0, stdout: '0 true\n', stderr: '' })
  })

  test('is clear in TypeScript functions that it calls', () => {
    const library = NativeLibrary.open(path)
    const seen: unknown[] = []
    const isSet = library.function('fast_math_is_backwards', { result: 'int32' })
    const stub = makeStub({ result: 'void', parameters: [] }, () => void seen.push(isSet()), {}, 'look')
    library.function('fast_math_backwards_around', { result: 'void', parameters: ['uint64'] })(BigInt(stub.address))
    expect(seen).toEqual([0])
    stub.close()
    library.close()
  })
})
