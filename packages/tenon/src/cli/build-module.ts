import type { Artifact, Project } from '@tenon/build/internal'
import type { ProjectModule } from '../pack/project-module.ts'
import { type WrittenModule, writeProjectModule } from '../project/write-module.ts'
import type { BuildTool } from './build-tool.ts'
import { printable, printTalk } from './terminal.ts'

/** The release libraries of this machine, and the module that uses them. */
export interface BuiltModule extends WrittenModule {
  readonly artifacts: readonly Artifact[]
}

/** Builds the libraries that the module of a project opens by default, writes the module, and names the kernels that it leaves out. */
export async function buildModule(tool: BuildTool, project: Project): Promise<BuiltModule> {
  const artifacts = await tool.buildPackage(project, { variant: 'release', kinds: ['shared'] })
  return { artifacts, ...(await writeModule(project, artifacts)) }
}

/** Writes the module of a project, and says what it leaves out. */
export async function writeModule(project: Project, artifacts: readonly Artifact[]): Promise<WrittenModule> {
  const module = await writeProjectModule(project, artifacts)
  printLeft(module)
  return module
}

/** Names the kernels that a module leaves out, and says how many declarations of headers it has. */
export function printLeft({ left, binding }: Pick<ProjectModule, 'left' | 'binding'>): void {
  for (const { reason, names } of left) printTalk(`left out, because ${reason}: ${printable(names.join(', '))}`)
  for (const line of binding?.summary ?? []) printTalk(line)
}

/** Prints a warning of the compiler. */
export const printWarning = (text: string): void => printTalk(printable(text))
