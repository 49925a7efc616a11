import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

import { digestsPath, installedWith, sha256, ToolError } from '@tenon/build/internal'

import { capturePnpm } from '../lib/run-tool.ts'
import { listPackages } from '../lib/workspace.ts'
import type { ReleasePackage } from './release-packages.ts'

/** A bill of materials in the format of CycloneDX, as far as it is read here. */
export interface Sbom {
  readonly metadata: { readonly component: SbomComponent }
  readonly components: readonly SbomComponent[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

/** A package in a bill of materials. */
export interface SbomComponent extends Readonly<Record<string, unknown>> {
  readonly name: string
  readonly group?: string
  readonly 'bom-ref'?: string
}

/** Writes the bill of materials of packages of the workspace that are released. @throws {ToolError} if pnpm cannot list their dependencies */
export async function writeSbom(path: string, packages: readonly ReleasePackage[]): Promise<void> {
  const workspace = await listPackages()
  const filters = packages.map(({ name }) => `--filter=${name}`)
  const { code, stdout, stderr } = await capturePnpm(['sbom', '--sbom-format', 'cyclonedx', '--prod', ...filters])
  if (code !== 0) throw new ToolError(`pnpm could not list the dependencies:\n${stderr}`)
  const names = workspace.map(({ name }) => name)
  writeFileSync(path, `${JSON.stringify(completeSbom(JSON.parse(stdout) as Sbom, packages, names), undefined, 2)}\n`)
}

const nameOf = ({ group, name }: SbomComponent): string => (group === undefined ? name : `${group}/${name}`)

/**
 * Replaces the packages of the workspace, of which pnpm lists those on which others depend, by those that are released, with the digests of
 * their tarballs and libraries.
 *
 * @param workspace the names of all packages of the workspace
 * @throws {ToolError} if a package on which a released one depends is not listed
 */
export function completeSbom(sbom: Sbom, packages: readonly ReleasePackage[], workspace: readonly string[]): Sbom {
  const foreign = sbom.components.filter((component) => !workspace.includes(nameOf(component)))
  const components = [...foreign, ...packages.map(componentOf)]
  const names = new Set(components.map(nameOf))
  const missing = packages.flatMap((pkg) => Object.keys(installedWith(pkg))).filter((name) => !names.has(name))
  if (missing.length > 0) throw new ToolError(`the bill of materials must have ${missing.join(', ')}`)
  const known = new Set(components.map((component) => component['bom-ref']))
  const dependencies = sbom.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }))
  const umbrella = components.find(({ name }) => name === 'tenon') ?? sbom.metadata.component
  return { ...sbom, metadata: { ...sbom.metadata, component: umbrella }, components, dependencies }
}

function componentOf({ name, version, path, files, manifest }: ReleasePackage): SbomComponent {
  const [plain, group] = name.split('/').toReversed()
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const libraries = [...files].filter(([file]) => file.startsWith('lib/') && file !== digestsPath)
  return {
    type: 'library',
    ...(group !== undefined && { group }),
    name: plain!,
    version,
    purl,
    'bom-ref': purl,
    licenses: [{ license: { id: manifest['license'] } }],
    hashes: [{ alg: 'SHA-512', content: createHash('sha512').update(readFileSync(path)).digest('hex') }],
    components: libraries.map(([file, { bytes }]) => ({
      type: 'file',
      name: file,
      hashes: [{ alg: 'SHA-256', content: sha256(bytes) }],
    })),
  }
}
