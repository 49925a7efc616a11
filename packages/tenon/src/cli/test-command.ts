import { relative } from 'node:path'
import { loadBuildTool } from './build-tool.ts'
import { buildModule, printWarning } from './build-module.ts'
import type { Definition } from './definition.ts'
import { ExitCode } from './failure.ts'
import { defineSubCommand, type SubCommand } from './sub-command.ts'
import { printable, printData, printTalk } from './terminal.ts'

const args = {
  variant: {
    type: 'enum',
    options: ['release', 'debug', 'asan'],
    description: 'how the libraries are compiled; asan finds memory errors',
  },
  json: { type: 'boolean', description: 'print one JSON document' },
} as const satisfies Definition

/** The command `tenon test`, which builds a package of kernels and runs its tests. */
export const testCommand: SubCommand = defineSubCommand({
  meta: { name: 'test', description: 'Build a package of kernels, and run its tests in C and TypeScript' },
  args,
  async run({ variant = 'release', json }) {
    const tool = await loadBuildTool('test')
    const project = await tool.loadProject(process.cwd(), { onWarning: printWarning })
    await buildModule(tool, project)
    const print = json ? printTalk : printData
    const report = await tool.testProject(
      project,
      variant,
      ({ name, ok, message = '' }) => print(printable(ok ? `ok - ${name}` : `not ok - ${name}: ${message}`)),
      json ? 2 : 1,
    )
    if (json) printData(JSON.stringify({ name: project.name, variant, ...report }, undefined, 2))
    if (report.ok) return ExitCode.ok
    printTalk(`${relative(process.cwd(), project.configPath)}: tests of ${project.name} failed`)
    return ExitCode.userError
  },
})
