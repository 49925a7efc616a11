import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { setup } from '../src/arena.ts'
import { lossesAmong, surprises } from '../src/judgement.ts'
import { lines } from '../src/lines/index.ts'
import { type Arena, runLine } from '../src/run-line.ts'
import { distance } from '../src/verdict.ts'
import { contestants, faults, goodContestant } from './fixtures/faulty.ts'

const arena: Arena = {
  runtimes: { node: process.execPath },
  setup,
  contestants: join(import.meta.dirname, 'fixtures/faulty.ts'),
}

/** A line of each area, in which Tenon without an error must do what is expected. */
const samples = new Set(
  [...new Set(lines.map(({ name }) => name.split('/')[0]))].map(
    (area) => lines.find(({ name }) => name.startsWith(`${area}/`))!.name,
  ),
)

describe.concurrent('lines find errors in Tenon', { timeout: 180_000 }, () => {
  it('each line has an error', () => {
    expect(Object.keys(faults).toSorted()).toEqual(lines.map(({ name }) => name).toSorted())
  })

  it.for(lines)('$name turns red', async (line, { expect: expectThis }) => {
    const faulty = contestants.find(({ name }) => name.endsWith(` in ${line.name}`))!
    const finding = await runLine(line, faulty, arena)
    expectThis(distance(line, finding.verdict), JSON.stringify(finding)).toBeGreaterThan(0)
    const losses = lossesAmong([finding], lines)
    expectThis(losses).toEqual([{ finding, better: [] }])
    expectThis(surprises([finding], losses)).toHaveLength(1)
  })

  it.for(lines.filter(({ name }) => samples.has(name)))(
    '$name is as expected without the error',
    async (line, { expect: expectThis }) => {
      const finding = await runLine(line, goodContestant(line.name), arena)
      expectThis(distance(line, finding.verdict), JSON.stringify(finding)).toBe(0)
      expectThis(surprises([finding], lossesAmong([finding], lines))).toEqual([])
    },
  )
})
