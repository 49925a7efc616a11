import { describe, expect, test } from 'vitest'
import { fixture, runClient } from './isolation/run-client.ts'
import { families, type UserReport } from './isolation/user-tries.ts'

// Workers need Linux.
if (process.platform === 'linux')
  describe('isolated libraries withstand a program that does what it should not', () => {
    test.each(Object.keys(families))('%s', { timeout: 120_000 }, async (family) => {
      const { code, signal, timedOut, stdout, stderr } = await runClient(
        './user-tries.ts',
        { path: fixture('faulty'), family },
        { timeout: 110_000 },
      )
      expect({ code, signal, timedOut, stderr }).toEqual({ code: 0, signal: null, timedOut: false, stderr: '' })
      const report = JSON.parse(stdout) as UserReport
      expect(report).toEqual({ tries: report.tries, foreign: [], late: [], left: [] })
    })
  })
