import { join } from 'node:path'

import { hostPlatform, ToolError } from '@tenon/build'

import { runNativeBuild } from '../lib/native.ts'
import { listPackages, withNativeTargets } from '../lib/workspace.ts'
import { packRelease, writePackage } from '../release/pack-release.ts'

/** Packs the public packages as they are published, with the libraries of this machine. @returns the folder of the tarballs */
export async function packHere(directory: string): Promise<string> {
  const published = (await listPackages()).filter((pkg) => !pkg.private)
  for (const pkg of withNativeTargets(published)) {
    const filled = await runNativeBuild(pkg.directory, ['--package'])
    if (filled.code !== 0) throw new ToolError(filled.stderr)
  }
  const here = hostPlatform.name
  const sources = published.filter(({ platform = here }) => platform === here)
  const packed = await packRelease(sources, [here])
  const tarballs = join(directory, 'tarballs')
  for (const { package: pkg } of packed) writePackage(pkg, tarballs)
  return tarballs
}
