import { describe, expect, test } from 'vitest'
import { runFunctions } from '../../fuzz/modules/run-functions.ts'

// A small part of `pnpm fuzz modules`, with other signatures in each run.
const seed = Math.floor(Math.random() * 2 ** 31)
const count = 60

describe(`a module of functions with random signatures, with the seed ${seed}`, () => {
  test(
    'passes all that C hashes, and gives what C returns, in this process and in a worker',
    { timeout: 120_000 },
    () => {
      const { summary, types, output, isolated, isolatable } = runFunctions(seed, count)
      expect(summary).toMatch(new RegExp(`^${count + 2} functions, .* structs in \\d+\\.\\d s$`, 'm'))
      expect(types).toBe('')
      expect(output).toBe(`${count} functions\n`)
      expect(isolatable).toBeGreaterThan(count / 4)
      expect(isolated).toBe(`${isolatable} functions\n`)
    },
  )
})
