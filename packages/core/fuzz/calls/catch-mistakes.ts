import { planCall } from '../../src/native/call/plan.ts'
import { fuzzDirectly } from './direct.ts'
import type { DirectProgram } from './direct-program.ts'
import { type Mistake, mistakes } from './wrong-plans.ts'

/** How often a mistake was made, and how often it was found. */
export interface MistakeReport {
  readonly name: string
  /** The signatures whose plan has the mistake. */
  readonly made: number
  /** The signatures that failed. After a crash the others do not run. */
  readonly found: number
}

/** Makes each mistake in the plans of a program's signatures, to show that the comparison can fail. */
export async function catchMistakes(program: DirectProgram, seed: number): Promise<MistakeReport[]> {
  const reports: MistakeReport[] = []
  for (const [name, mistake] of Object.entries(mistakes)) reports.push(await catchOne(program, seed, name, mistake))
  return reports.filter(({ made }) => made > 0)
}

async function catchOne(program: DirectProgram, seed: number, name: string, mistake: Mistake): Promise<MistakeReport> {
  let made = 0
  const failures = await fuzzDirectly(program, {
    seed,
    rounds: 2,
    plan: (abi, signature) => {
      const right = planCall(abi, signature)
      const wrong = mistake(right)
      if (wrong !== undefined) made++
      return wrong ?? right
    },
  })
  return { name, made, found: new Set(failures.map(({ index }) => index)).size }
}
