import { describe, expect, test } from 'vitest'
import { attacks } from './isolation/attacks.ts'
import { fixture, runClient } from './isolation/run-client.ts'
import type { HostileReport } from './isolation/hostile-client.ts'

const isSoak = process.env['TENON_SOAK'] === '1'
/** The tries of one attack. The form of a call depends on the seed, and five seeds have each form once. */
const SEEDS = isSoak ? 200 : 5

// Workers need Linux.
if (process.platform === 'linux')
  describe('a client withstands a hostile kernel that attacks', () => {
    const library = fixture('hostile')
    const first = isSoak ? Date.now() % 1e9 : 0
    const seeds = Array.from({ length: SEEDS }, (_, i) => first + i)

    test.each(attacks)('%s', { timeout: SEEDS * 15_000 }, async (attack) => {
      const { code, signal, timedOut, stdout, stderr } = await runClient(
        './hostile-client.ts',
        { library, attack, seeds },
        { timeout: SEEDS * 14_000 },
      )
      expect({ code, signal, timedOut, stderr }).toEqual({ code: 0, signal: null, timedOut: false, stderr: '' })
      const report = JSON.parse(stdout) as HostileReport
      expect(report).toEqual({ tries: SEEDS, outcomes: report.outcomes, foreign: [], broken: [], left: [] })
    })
  })
