import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ToolError } from '@tenon/build'
import { runCommand } from '@tenon/build/internal'

import { root } from '../lib/root.ts'

/** A hand-written file of the repository. */
export interface SourceFile {
  /** The path relative to the root, with `/`. */
  readonly path: string
  readonly text: string
}

/** Lists the files with these extensions that git tracks or does not ignore, without generated ones. */
export async function listSourceFiles(extensions: readonly string[]): Promise<SourceFile[]> {
  const listed = await runCommand('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  if (listed.code !== 0) throw new ToolError(`git could not list the files:\n${listed.stderr}`)
  return listed.stdout
    .split('\n')
    .filter((path) => extensions.some((extension) => path.endsWith(extension)))
    .filter((path) => !path.includes('/generated/') && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}
