import type * as buildTool from '@tenon/build/internal'
import { findInProject, loadPeer } from './load-peer.ts'
import { UsageError } from './usage-error.ts'

/** What the command uses of `@tenon/build`. */
export type BuildTool = typeof buildTool

/**
 * Loads `@tenon/build`.
 *
 * @param command the name of the command, for the error
 * @throws {UsageError} with the command that installs it
 */
export async function loadBuildTool(command: string): Promise<BuildTool> {
  const tool = await loadPeer('@tenon/build/internal')
  if (tool !== undefined) return tool as BuildTool
  // In a project that has tenon, npx -p runs that one, which does not see the package that npx installs elsewhere.
  const needsProject = command !== 'new' || findInProject('tenon') !== undefined
  throw new UsageError(
    `tenon ${command} needs @tenon/build, which is not installed`,
    needsProject
      ? 'Install it: npm install --save-dev @tenon/build'
      : 'Run npx -p tenon -p @tenon/build tenon new kernel NAME.',
  )
}
