import { doctorFacts } from './doctor-facts.ts'
import { problemsOf } from './doctor-problems.ts'
import { doctorText } from './doctor-text.ts'
import { ExitCode } from './failure.ts'
import type { Definition } from './definition.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printData, styleFor } from './terminal.ts'

const args = {
  'cuda-driver': {
    type: 'string',
    valueHint: 'path',
    description: "the library of the CUDA driver, instead of the system's",
  },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon doctor`, which describes the installation and finds its problems. */
export const doctorCommand: SubCommand = defineSubCommand({
  meta: { name: 'doctor', description: 'Check the installation: core, calls, limits of the system, GPU' },
  args,
  run({ 'cuda-driver': cudaDriver, json }) {
    const facts = doctorFacts(cudaDriver)
    const problems = problemsOf(facts)
    printData(
      json ? JSON.stringify({ ...facts, problems }, null, 2) : doctorText(facts, problems, styleFor(process.stdout)),
    )
    return problems.some(({ level }) => level === 'error') ? ExitCode.userError : ExitCode.ok
  },
})
