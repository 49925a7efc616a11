import { expect, test } from 'vitest'
import { runTogether } from './attacks/attempt.ts'
import { together } from './attacks/together.ts'

const isSoak = process.env['TENON_SOAK'] === '1'
const ROUNDS = isSoak ? 300 : 1
/** The attempts of a round. One process runs them all. */
const COUNT = isSoak ? 40 : 8

const all = Object.values(together).flatMap((attempts) => Object.entries(attempts))

/** Picks attempts at random, each once. */
function someOf(count: number, seed: number): typeof all {
  const rest = [...all]
  let state = seed
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return rest.splice(state % rest.length, 1)[0]!
  })
}

if (process.platform === 'linux')
  test(`the process survives attempts in ${ROUNDS} random orders`, { timeout: ROUNDS * 120_000 }, async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      const attempts = someOf(COUNT, isSoak ? Date.now() : round)
      const { code, signal, timedOut, results, stderr } = await runTogether(attempts, 110_000)
      const order = attempts.map(([name]) => name).join('\n')
      expect({ code, signal, timedOut, stderr }, order).toEqual({ code: 0, signal: null, timedOut: false, stderr: '' })
      expect(results, order).toEqual({
        ...Object.fromEntries(attempts.map(([name, [, outcome]]) => [name, outcome])),
        end: '',
      })
    }
  })
