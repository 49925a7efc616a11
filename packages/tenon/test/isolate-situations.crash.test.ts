import { describe, expect, test } from 'vitest'
import { fixture, runClient } from './isolation/run-client.ts'

// Workers need Linux.
if (process.platform === 'linux')
  describe.concurrent('isolated libraries withstand', () => {
    test.each([
      ['threads that end', './thread-tries.ts'],
      ['operands that are closed, detached or shared in calls', './operand-tries.ts'],
      ['libraries that change, and do not load', './file-tries.ts'],
      ['few descriptors', './descriptor-tries.ts'],
      ['many libraries, results and crashes', './many-tries.ts'],
    ])('%s', { timeout: 200_000 }, async (_, program) => {
      const argument = { path: fixture('faulty'), packed: fixture('faulty_packed') }
      const { code, signal, timedOut, stdout, stderr } = await runClient(program, argument, { timeout: 190_000 })
      expect({ code, signal, timedOut, stderr }).toEqual({ code: 0, signal: null, timedOut: false, stderr: '' })
      expect(JSON.parse(stdout)).toEqual([])
    })
  })
