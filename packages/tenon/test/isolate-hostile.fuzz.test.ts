import { expect, test } from 'vitest'
import { attacks } from './isolation/attacks.ts'
import type { HostileReport } from './isolation/hostile-client.ts'
import { fixture, runClient } from './isolation/run-client.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
/** The tries of one attack in one process. */
const TRIES = 4

// Workers need Linux.
if (process.platform === 'linux')
  test('a client withstands random attacks of a kernel', { timeout: (seconds + 60) * 1000 }, async () => {
    const library = fixture('hostile')
    const end = performance.now() + seconds * 1000
    do {
      const attack = attacks[Math.floor(Math.random() * attacks.length)]!
      const first = Math.floor(Math.random() * 2 ** 40)
      const seeds = Array.from({ length: TRIES }, (_, i) => first + i)
      const argument = { library, attack, seeds }
      const { code, signal, timedOut, stdout, stderr } = await runClient('./hostile-client.ts', argument, {
        timeout: TRIES * 14_000,
      })
      const wanted = { attack, seeds, code: 0, signal: null, timedOut: false, stderr: '' }
      expect({ attack, seeds, code, signal, timedOut, stderr }).toEqual(wanted)
      const report = JSON.parse(stdout) as HostileReport
      const found = { attack, seeds, foreign: report.foreign, broken: report.broken, left: report.left }
      expect(found).toEqual({ attack, seeds, foreign: [], broken: [], left: [] })
    } while (performance.now() < end)
  })
