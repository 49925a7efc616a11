import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { publishOrder } from '../release/publish.ts'
import { readTarballs } from '../release/release-tarballs.ts'
import { packHere } from './pack-here.ts'
import { installPackageManagers } from './package-managers.ts'
import { type Registry, startRegistry } from './registry.ts'
import { makeSandbox, type Sandbox } from './sandbox.ts'

/** What users have who install Tenon's packages from a registry on this machine. */
export interface Rehearsal {
  /** The URL of the registry. */
  readonly registry: string
  /** Makes the account of another user. @param node the path of Node.js, by default that of this process */
  sandbox(node?: string): Sandbox
}

/**
 * Publishes Tenon's packages to a registry on this machine, which ends with the rehearsal.
 *
 * @param folder that of the tarballs; without it, the packages are packed for this machine, for which they must be built
 * @param others the names of packages besides Tenon's that never come from npm's registry
 */
export async function withPackages(
  folder: string | undefined,
  rehearse: (rehearsal: Rehearsal) => Promise<void>,
  others: readonly string[] = [],
): Promise<void> {
  const given = folder === undefined ? undefined : readTarballs(folder)
  const packages = await installPackageManagers()
  const directory = mkdtempSync(join(tmpdir(), 'tenon-rehearsal-'))
  let registry: Registry | undefined
  try {
    const tarballs = publishOrder(given ?? readTarballs(await packHere(directory)))
    const own = [...tarballs.map((tarball) => tarball.package.name), ...others]
    const started = await startRegistry(packages, join(directory, 'registry'), own)
    registry = started
    const sandbox = (node = process.execPath): Sandbox => makeSandbox(directory, packages, node, started)
    const publisher = sandbox()
    for (const { path } of tarballs)
      await publisher.run(['npm', 'publish', resolve(path), '--provenance=false', '--tag=latest'])
    await rehearse({ registry: started.url, sandbox })
  } finally {
    await registry?.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
