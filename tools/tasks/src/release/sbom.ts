import { createHash } from 'node:crypto'

import type { ReleaseTarball } from './publish.ts'

/** A component of a bill of materials. */
export interface SbomComponent {
  readonly type: string
  readonly name: string
  readonly group?: string
  readonly version?: string
  readonly 'bom-ref'?: string
  readonly purl?: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
  readonly components?: readonly SbomComponent[]
}

/** A bill of materials in the format of CycloneDX, as far as it is read here. */
export interface Sbom {
  readonly bomFormat: 'CycloneDX'
  readonly metadata: { readonly component: SbomComponent }
  readonly components: readonly SbomComponent[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[]
}

const fullName = ({ group, name }: SbomComponent): string => (group === undefined ? name : `${group}/${name}`)

/**
 * Completes the bill of materials that pnpm writes for the workspace: it describes the release and has the digests of its tarballs, and of
 * each library. Packages of the workspace that are not published are left out.
 *
 * @param workspace the names of all packages of the workspace
 */
export function completeSbom(sbom: Sbom, tarballs: readonly ReleaseTarball[], workspace: readonly string[]): Sbom {
  const published = new Map(tarballs.map((tarball) => [tarball.package.name, tarball]))
  const umbrella = published.get('tenon')
  const foreign = sbom.components.filter((component) => !workspace.includes(fullName(component)))
  const components = [...foreign, ...tarballs.map(componentOf)]
  const known = new Set(components.map((component) => component['bom-ref']))
  const dependencies = sbom.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }))
  const component = umbrella === undefined ? sbom.metadata.component : componentOf(umbrella)
  return { ...sbom, metadata: { ...sbom.metadata, component }, components, dependencies }
}

function componentOf({ package: { name, version, files, manifest }, bytes }: ReleaseTarball): SbomComponent {
  const [group, plain] = name.includes('/') ? name.split('/') : [undefined, name]
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const libraries = [...files].filter(([path]) => path.startsWith('lib/') && !path.endsWith('.json'))
  return {
    type: 'library',
    ...(group !== undefined && { group }),
    name: plain!,
    version,
    purl,
    'bom-ref': purl,
    ...(typeof manifest['license'] === 'string' && { licenses: [{ license: { id: manifest['license'] } }] }),
    hashes: [{ alg: 'SHA-512', content: digest('sha512', bytes) }],
    ...(libraries.length > 0 && {
      components: libraries.map(([path, file]) => ({
        type: 'file',
        name: path,
        hashes: [{ alg: 'SHA-256', content: digest('sha256', file.bytes) }],
      })),
    }),
  }
}

const digest = (algorithm: string, bytes: Uint8Array): string => createHash(algorithm).update(bytes).digest('hex')

/** Returns a sentence for each package that a published one needs and the bill of materials does not have. */
export function findMissingComponents({ components }: Sbom, tarballs: readonly ReleaseTarball[]): string[] {
  const names = new Set(components.map(fullName))
  return tarballs.flatMap(({ package: { name, manifest } }) =>
    Object.keys((manifest['dependencies'] ?? {}) as object)
      .filter((dependency) => !names.has(dependency))
      .map((dependency) => `the bill of materials must have ${dependency}, on which ${name} depends`),
  )
}
