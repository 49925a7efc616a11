import { utimesSync } from 'node:fs'
import { relative } from 'node:path'
import type { Project, Variant } from '@tenon/build/internal'
import { printWarning, writeModule } from './build-module.ts'
import type { BuildTool } from './build-tool.ts'
import { reportFailure } from './failure.ts'
import { printData, printTalk } from './terminal.ts'

/**
 * Builds the project in a directory after each change, until the process is interrupted. Modules of the project in other processes use
 * the newest libraries.
 */
export function watchProject(tool: BuildTool, directory: string, variant: Variant): Promise<void> {
  let hasFailed = false
  const watcher = tool.watchPackage(directory, {
    variant,
    onWarning: printWarning,
    async onBuild({ project, artifacts, changed, announce }) {
      // Kernels whose signature is wrong are not announced.
      const { files } = await writeModule(project, artifacts)
      announce()
      // A bound module opens its libraries once. The new time makes node --watch start the programs that import it again.
      if (project.config.binding !== undefined && changed.length > 0) utimesSync(files[0]!, new Date(), new Date())
      for (const { path } of changed) printData(`${timeOf(new Date())} ${inProject(project, path)}`)
      if (changed.length === 0 && hasFailed) printData(`${timeOf(new Date())} as before`)
      hasFailed = false
    },
    onError(error) {
      hasFailed = true
      reportFailure(error, `${timeOf(new Date())} tenon build`)
    },
  })
  printTalk(`watching ${directory}; press Ctrl+C to end`)
  return new Promise((resolve) => {
    const end = (): void => {
      watcher.close()
      resolve()
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end)
  })
}

const inProject = ({ directory }: Project, path: string): string => relative(directory, path)

const timeOf = (date: Date): string => date.toTimeString().slice(0, 8)
