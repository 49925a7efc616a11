import { describe, expect, test } from 'vitest'
import { runAlone, runTogether } from './attacks/attempt.ts'
import { exits } from './attacks/exits.ts'
import { together } from './attacks/together.ts'

// The attempts use the C library, pipes and devices of Linux.
if (process.platform === 'linux') {
  describe('attempts to end the process end with errors', () => {
    test.each(Object.entries(together))('%s', { timeout: 160_000 }, async (_, attempts) => {
      const results = Object.fromEntries(Object.entries(attempts).map(([name, [, outcome]]) => [name, outcome]))
      expect(await runTogether(Object.entries(attempts))).toEqual({
        code: 0,
        signal: null,
        timedOut: false,
        results: { ...results, end: '' },
        stderr: '',
      })
    })
  })

  describe('a process ends with its exit code when it', () => {
    test.each(Object.entries(exits))('%s', { timeout: 70_000 }, async (name, attempt) => {
      const results = { [name]: attempt[1] }
      expect(await runAlone(name, attempt)).toEqual({ code: 7, signal: null, timedOut: false, results, stderr: '' })
    })
  })
}
