/** Memory and functions that are used after their end. */
import { type Line, returned } from '../line.ts'

const LARGE = 64 * 2 ** 20

export const lifetime: readonly Line[] = [
  {
    name: 'lifetime/read-after-free',
    work: 'JavaScript reads a byte of memory that was freed.',
    expected: 'error',
    needs: ['allocate', 'fill'],
    run: async ({ allocate, fill }) => {
      const { argument, read, free } = allocate(64)
      await fill(argument, 64, 7)
      await free()
      return returned(read(8))
    },
  },
  {
    name: 'lifetime/call-after-free',
    work: 'Memory that was freed is passed to a call.',
    expected: 'error',
    needs: ['allocate', 'sum'],
    run: async ({ allocate, sum }) => {
      const { argument, free } = allocate(64)
      await free()
      return returned(await sum(argument, 64))
    },
  },
  {
    name: 'lifetime/free-twice',
    work: 'Memory is freed twice. The second time must be an error, or do nothing.',
    expected: 'result',
    needs: ['allocate', 'sum'],
    run: async ({ allocate, sum }) => {
      const { free } = allocate(64)
      await free()
      let seen = 'nothing'
      try {
        await free()
      } catch (error) {
        seen = (error as Error).name
      }
      const { argument } = allocate(64)
      return { isRight: (await sum(argument, 64)) === 0, seen }
    },
  },
  {
    name: 'lifetime/free-during-call',
    work: 'Memory of 64 MiB is freed while an asynchronous call reads it. Freeing must be an error, and the sum right.',
    expected: 'error',
    needs: ['allocate', 'sumLater', 'addOne'],
    run: async ({ allocate, sumLater }) => {
      const { argument, free } = allocate(LARGE)
      const sum = sumLater(argument, LARGE)
      let refusal: unknown
      try {
        await free()
      } catch (error) {
        refusal = error
      }
      const value = await sum
      if (refusal !== undefined && value === 0) throw refusal
      return returned(value)
    },
  },
  {
    name: 'lifetime/call-after-close',
    work: 'A function is called after its library was closed.',
    expected: 'error',
    needs: ['addOne', 'close'],
    run: async ({ addOne, close }) => {
      await close()
      return returned(await addOne(1))
    },
  },
]
