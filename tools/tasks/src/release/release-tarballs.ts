import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

import { ToolError } from '@tenon/build'

import type { ReleaseTarball } from './publish.ts'
import { releasePackage } from './release-package.ts'
import { readTarball } from './tarball.ts'

/** Reads the tarballs of a folder. @throws {ToolError} if there are none, or one is damaged */
export function readTarballs(directory: string): ReleaseTarball[] {
  const paths = globSync('*.tgz', { cwd: directory }).toSorted()
  if (paths.length === 0) throw new ToolError(`${directory} must contain the tarballs of pnpm release:pack`)
  return paths.map((file) => {
    const path = join(directory, file)
    const bytes = readFileSync(path)
    return { path, bytes, package: releasePackage(basename(path), readTarball(path, bytes)) }
  })
}
