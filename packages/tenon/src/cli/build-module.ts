import type { Artifact, Project } from '@tenon/build/internal'
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
  return { artifacts, ...writeModule(project, artifacts) }
}

/** Writes the module of a project, and names the kernels that it leaves out. */
export function writeModule(project: Project, artifacts: readonly Artifact[]): WrittenModule {
  const module = writeProjectModule(project, artifacts)
  for (const { reason, names } of module.left) printTalk(`left out, because ${reason}: ${printable(names.join(', '))}`)
  return module
}

/** Prints a warning of the compiler. */
export const printWarning = (text: string): void => printTalk(printable(text))
