import { spawnSync } from 'node:child_process'
import { type Row, separateBody } from '@tenon/bench'
import { setup } from '../arena.ts'
import { type Contestant, isTenon } from '../contestant.ts'
import { runtime } from './measured.ts'

/** The flags with which a runtime runs the text of a module. */
const flags = {
  node: ['--input-type=module', '--eval'],
  bun: ['--eval'],
  deno: ['eval', '--quiet'],
}

/** @throws {Error} with the output of a program that fails */
function runProgram(source: string): void {
  const { status, stderr } = spawnSync(process.execPath, [...flags[runtime], source], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`a program has failed:\n${stderr}`)
}

const bodyOf = (source: string): (() => unknown) =>
  separateBody('() => run(source)', { run: runProgram, source }) as () => unknown

/** The time of a process that loads a contestant and makes one call, next to one that does nothing. */
export const startRow = (contestants: readonly Contestant[]): Row => ({
  name: 'start/first-call',
  unit: 'ms',
  setup: () => {
    const peers: Record<string, () => unknown> = {}
    let ours: (() => unknown) | undefined
    for (const contestant of contestants) {
      const source = contestant.firstCall?.(setup)
      if (source === undefined) continue
      try {
        runProgram(source)
      } catch (error) {
        process.stderr.write(`  not measured: start/first-call: ${contestant.name}: ${(error as Error).message}\n`)
        continue
      }
      if (isTenon(contestant.name)) ours = bodyOf(source)
      else peers[contestant.name] = bodyOf(source)
    }
    if (ours === undefined) throw new Error('the program of Tenon has failed')
    return { ours, peers: { ...peers, [`${runtime} alone`]: bodyOf('0') } }
  },
})
