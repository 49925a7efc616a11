/** Right results of calls, callbacks, structs, strings and asynchronous calls. */
import { setTimeout as wait } from 'node:timers/promises'
import { checkValue, type Line, returned } from '../line.ts'

const TEXT = 'naïve ✓'
const MIB = 2 ** 20

export const values: readonly Line[] = [
  {
    name: 'calls/int32',
    work: 'Passes and returns integers of 32 bits, also the smallest one.',
    expected: 'result',
    needs: ['addOne'],
    run: async ({ addOne }) => checkValue([await addOne(41), await addOne(-(2 ** 31))], [42, 1 - 2 ** 31]),
  },
  {
    name: 'calls/bytes',
    work: 'Sums 16 bytes of a Uint8Array.',
    expected: 'result',
    needs: ['sum'],
    run: async ({ sum }) => checkValue(await sum(new Uint8Array(16).fill(200), 16), 3200),
  },
  {
    name: 'calls/none',
    work: 'Calls a function without arguments and without a result.',
    expected: 'result',
    needs: ['nothing'],
    run: async ({ nothing }) => checkValue((await nothing()) ?? null, null),
  },
  {
    name: 'structs/by-value',
    work: 'Passes a struct of two numbers by value, and gets one back.',
    expected: 'result',
    needs: ['scale'],
    run: async ({ scale }) => checkValue(await scale({ x: 1.5, y: -2 }, 2), { x: 3, y: -4 }),
  },
  {
    name: 'strings/argument',
    work: 'Passes a string, whose length in UTF-8 C counts.',
    expected: 'result',
    needs: ['length'],
    run: async ({ length }) => checkValue(await length(TEXT), 10),
  },
  {
    name: 'strings/result',
    work: 'Returns a `const char *` as a string.',
    expected: 'result',
    needs: ['text'],
    run: async ({ text }) => checkValue(await text(), TEXT),
  },
  {
    name: 'strings/inner-nul',
    work: 'Passes a string with U+0000 inside, which C cannot see whole.',
    expected: 'error',
    needs: ['length'],
    run: async ({ length }) => returned(await length('ab\0cd')),
  },
  {
    name: 'callbacks/same-thread',
    work: 'C calls a function of JavaScript five times, each with the result of the call before.',
    expected: 'result',
    needs: ['callback', 'repeat'],
    run: async ({ callback, repeat }) => {
      const { argument, release } = callback((value) => value + 2)
      const result = await repeat(argument, 5)
      await release()
      return checkValue(result, 10)
    },
  },
  {
    name: 'callbacks/other-thread',
    work: 'A thread of C calls a function of JavaScript five times, each with the result of the call before.',
    expected: 'result',
    needs: ['callback', 'repeatOnThread'],
    run: async ({ callback, repeatOnThread }) => {
      const seen: number[] = []
      const { argument, release } = callback((value) => {
        seen.push(value)
        return value + 2
      }, true)
      await repeatOnThread(argument, 5)
      const end = performance.now() + 5000
      while (seen.length < 5 && performance.now() < end) await wait(5)
      // The thread returns from the last call before the callback ends.
      await wait(50)
      await release()
      return checkValue(seen, [0, 2, 4, 6, 8])
    },
  },
  {
    name: 'callbacks/throws',
    work: 'The function that C calls throws.',
    expected: 'error',
    reason: /thrown in the callback/,
    needs: ['callback', 'repeat', 'addOne'],
    run: async ({ callback, repeat }) => {
      const { argument } = callback(() => {
        throw new RangeError('thrown in the callback')
      })
      return returned(await repeat(argument, 1))
    },
  },
  {
    name: 'async/one',
    work: 'Sums 64 MiB on another thread, while timers of this thread run.',
    expected: 'result',
    needs: ['sumLater'],
    run: async ({ sumLater }) => {
      let turns = 0
      const timer = setInterval(() => turns++, 1)
      const sum = await sumLater(new Uint8Array(64 * MIB).fill(1), 64 * MIB)
      clearInterval(timer)
      return turns > 0 ? checkValue(sum, 64 * MIB) : { isRight: false, seen: 'the thread was blocked' }
    },
  },
  {
    name: 'async/sixteen',
    work: 'Sixteen asynchronous calls at once, each of which sums 1 MiB of its own.',
    expected: 'result',
    needs: ['sumLater'],
    run: async ({ sumLater }) => {
      const bytes = Array.from({ length: 16 }, (_, i) => new Uint8Array(MIB).fill(i))
      const sums = await Promise.all(bytes.map((one) => sumLater(one, MIB)))
      return checkValue(
        sums,
        bytes.map((_, i) => i * MIB),
      )
    },
  },
  {
    name: 'model/value',
    work: 'Computes x + x for 2 x 2 numbers, as a kernel or as a model.',
    expected: 'result',
    needs: ['double'],
    run: async ({ double }) =>
      checkValue(Array.from((await double(Float32Array.of(1, 2, 3, 4))) as number[]), [2, 4, 6, 8]),
  },
]
