import { describe, expect, test } from 'vitest'

import { bootstrapNames, bootstrapPackage, bootstrapVersion } from '../../src/release/bootstrap.ts'
import {
  integrityOf,
  publishOrder,
  publishRelease,
  type ReleaseRegistry,
  type ReleaseTarball,
} from '../../src/release/publish.ts'
import type { Manifest } from '../../src/release/release-package.ts'
import { completeSbom, findMissingComponents, type Sbom } from '../../src/release/sbom.ts'
import { packageOf, project } from './fixture.ts'

const tarball = (name: string, manifest: Manifest = {}, files: Record<string, string> = {}): ReleaseTarball => ({
  path: `${name}.tgz`,
  bytes: Buffer.from(name),
  package: packageOf({ name, version: '1.2.3', license: 'Apache-2.0', ...manifest }, files),
})

const tarballs = [
  tarball('tenon', { dependencies: { '@tenon/core': '^1.2.3', '@tenon/scope': '^1.2.3' } }),
  tarball('@tenon/serve', { dependencies: { tenon: '^1.2.3', '@tenon/core': '^1.2.3', valibot: '^1.0.0' } }),
  tarball('@tenon/scope', { dependencies: { '@tenon/core': '^1.2.3' } }),
  tarball('@tenon/core', {
    dependencies: { '@tenon/binary': '^1.2.3', koffi: '^3.0.0' },
    optionalDependencies: { '@tenon/core-linux-x64-gnu': '1.2.3' },
  }),
  tarball('@tenon/binary'),
  tarball('@tenon/core-linux-x64-gnu', { os: ['linux'] }, { 'lib/libtenon.so': 'x', 'lib/SHA256SUMS.json': '{}' }),
]

/** A registry that writes down what it is told. */
function fakeRegistry(
  known: Readonly<Record<string, string>> = {},
  refused?: string,
): ReleaseRegistry & { log: string[] } {
  const log: string[] = []
  return {
    log,
    integrityOf: (name, version) => Promise.resolve(known[`${name}@${version}`]),
    publish(path, tag) {
      if (path.endsWith(`${refused}.tgz`)) return Promise.reject(new Error('refused'))
      log.push(`${path.replace(/^.*\/(?=[^/]+-0)/, '')} ${tag}`)
      return Promise.resolve()
    },
    deprecate(name, version) {
      log.push(`deprecate ${name}@${version}`)
      return Promise.resolve()
    },
  }
}

const order = ['@tenon/core-linux-x64-gnu', '@tenon/binary', '@tenon/core', '@tenon/serve', '@tenon/scope', 'tenon']

describe('publishRelease()', () => {
  test('publishes platform packages first, each package after its parts, and the umbrella last', async () => {
    expect(publishOrder(tarballs).map((one) => one.package.name)).toEqual(order)
    const registry = fakeRegistry()
    const published = await publishRelease(tarballs, registry, () => undefined)
    expect(registry.log).toEqual(order.map((name) => `${name}.tgz latest`))
    expect(published).toHaveLength(6)
  })

  test('skips what is published with the same bytes, as a second run does', async () => {
    const same = (names: readonly string[]): Record<string, string> =>
      Object.fromEntries(names.map((name) => [`${name}@1.2.3`, integrityOf(Buffer.from(name))]))
    const registry = fakeRegistry(same(order.slice(0, 4)))
    const told: string[] = []
    await publishRelease(tarballs, registry, (line) => told.push(line))
    expect(registry.log).toEqual(['@tenon/scope.tgz latest', 'tenon.tgz latest'])
    expect(told[0]).toBe('@tenon/core-linux-x64-gnu@1.2.3 is published already')
    const again = fakeRegistry(same(order))
    expect(await publishRelease(tarballs, again, () => undefined)).toEqual([])
    expect(again.log).toEqual([])
  })

  test('publishes nothing if a version is published with other bytes', async () => {
    const registry = fakeRegistry({ 'tenon@1.2.3': 'sha512-other' })
    await expect(publishRelease(tarballs, registry, () => undefined)).rejects.toThrow(
      `the registry has tenon@1.2.3 with other contents: sha512-other, not ${integrityOf(Buffer.from('tenon'))}`,
    )
    expect(registry.log).toEqual([])
  })

  test('stops at the first package that the registry refuses', async () => {
    const registry = fakeRegistry({}, '@tenon/core')
    await expect(publishRelease(tarballs, registry, () => undefined)).rejects.toThrow('refused')
    expect(registry.log).toEqual(['@tenon/core-linux-x64-gnu.tgz latest', '@tenon/binary.tgz latest'])
  })

  test('publishes versions before a release under another tag', async () => {
    const registry = fakeRegistry()
    await publishRelease([tarball('tenon', { version: '2.0.0-beta.1' })], registry, () => undefined)
    expect(registry.log).toEqual(['tenon.tgz next'])
  })
})

describe('bootstrapNames()', () => {
  const names = [
    { name: 'tenon', directory: 'packages/tenon' },
    { name: '@tenon/core', directory: 'packages/core' },
  ]
  const context = (changes: object = {}): Parameters<typeof bootstrapNames>[1] & { registry: { log: string[] } } => ({
    project,
    registry: fakeRegistry(),
    hasName: (name: string) => Promise.resolve(name === 'tenon'),
    environment: {},
    tell: () => undefined,
    ...changes,
  })

  test('publishes an empty version of each new name, deprecated at once, and says what to set up', async () => {
    const given = context()
    expect(await bootstrapNames(names, given)).toEqual([
      'https://www.npmjs.com/package/tenon/access: owner/tenon, release.yml, environment npm',
      'https://www.npmjs.com/package/@tenon/core/access: owner/tenon, release.yml, environment npm',
    ])
    expect(given.registry.log).toEqual([
      `tenon-core-${bootstrapVersion}.tgz bootstrap`,
      `deprecate @tenon/core@${bootstrapVersion}`,
    ])
    const { files, manifest } = bootstrapPackage(names[1]!, project)
    expect([...files.keys()]).toEqual(['package.json', 'README.md'])
    expect(manifest).toMatchObject({ version: '0.0.0-bootstrap.0', repository: { directory: 'packages/core' } })
    expect(manifest).not.toHaveProperty('scripts')
  })

  test('refuses to run in CI, and while project.json has its first values', async () => {
    const inWorkflow = context({ environment: { CI: 'true' } })
    await expect(bootstrapNames(names, inWorkflow)).rejects.toThrow('a person must run this command, and CI is set')
    const unfilled = context({ project: { ...project, owner: 'OWNER' } })
    await expect(bootstrapNames(names, unfilled)).rejects.toThrow('project.json must name the real owner, got OWNER')
    expect([inWorkflow.registry.log, unfilled.registry.log]).toEqual([[], []])
  })
})

describe('the bill of materials', () => {
  const component = (group: string | undefined, name: string): Sbom['components'][number] => ({
    type: 'library',
    ...(group !== undefined && { group }),
    name,
    version: '1.0.0',
    'bom-ref': name,
  })
  const workspace = ['tenon', '@tenon/core', '@tenon/core-darwin-x64', '@tenon/core-linux-x64-gnu', '@tenon/binary']
  const listed: Sbom = {
    bomFormat: 'CycloneDX',
    metadata: { component: component(undefined, 'tenon-monorepo') },
    components: [component('@tenon', 'core-darwin-x64'), component('@tenon', 'core'), component(undefined, 'koffi')],
    dependencies: [
      { ref: 'koffi', dependsOn: ['core-darwin-x64'] },
      { ref: 'core-darwin-x64', dependsOn: [] },
    ],
  }

  test('has the tarballs with their digests, their libraries, and the packages of others', () => {
    const sbom = completeSbom(listed, tarballs, workspace)
    expect(sbom.metadata.component).toMatchObject({ name: 'tenon', version: '1.2.3' })
    expect(sbom.components.map(({ name }) => name)).toEqual([
      'koffi',
      'tenon',
      'serve',
      'scope',
      'core',
      'binary',
      'core-linux-x64-gnu',
    ])
    expect(sbom.dependencies).toEqual([{ ref: 'koffi', dependsOn: [] }])
    expect(sbom.components.at(-1)).toMatchObject({
      group: '@tenon',
      purl: 'pkg:npm/%40tenon/core-linux-x64-gnu@1.2.3',
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }],
      components: [{ type: 'file', name: 'lib/libtenon.so', hashes: [{ alg: 'SHA-256' }] }],
    })
  })

  test('must have every package that a published one needs', () => {
    expect(findMissingComponents(completeSbom(listed, tarballs, workspace), tarballs)).toEqual([
      'the bill of materials must have valibot, on which @tenon/serve depends',
    ])
  })
})
