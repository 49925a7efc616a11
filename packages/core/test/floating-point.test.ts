import { describe, expect, test } from 'vitest'
import { NativeLibrary } from '@tenon/core'
import { runScript } from '@tenon/core/testing'
import { fixturePath } from './fixture.ts'

/** The smallest number above 0, which the compiler does not know. It is 0 on a thread with flush-to-zero. */
const smallest = Number('5e-324')

/** Whether the arithmetic of this thread is that of IEEE 754. */
const hasSubnormals = (): boolean => smallest + smallest > 0

const path = fixturePath('fast_math')

describe('rule 8: opening a library', () => {
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
