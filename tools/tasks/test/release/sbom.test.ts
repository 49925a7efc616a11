import { join } from 'node:path'

import type { Manifest } from '@tenon/build/internal'
import { expect, test } from 'vitest'

import { root } from '../../src/lib/root.ts'
import type { ReleasePackage } from '../../src/release/release-packages.ts'
import { completeSbom, type Sbom, type SbomComponent } from '../../src/release/sbom.ts'
import { packageOf } from './fixture.ts'

const released = (name: string, manifest: Manifest = {}, files: Record<string, string> = {}): ReleasePackage => ({
  ...packageOf({ name, version: '1.2.3', ...manifest }, files),
  path: join(root, 'LICENSE'),
})

const platform = { 'lib/libtenon.so': 'x', 'lib/SHA256SUMS.json': '{}' }

const packages = [
  released('@tenon/core-linux-x64-gnu', { os: ['linux'] }, platform),
  released('@tenon/core', {
    dependencies: { koffi: '^3.0.0' },
    optionalDependencies: { '@tenon/core-linux-x64-gnu': '1.2.3' },
  }),
  released('tenon', { dependencies: { '@tenon/core': '^1.2.3' } }),
]

const component = (name: string, group?: string): SbomComponent => ({ name, ...(group && { group }), 'bom-ref': name })

const listed: Sbom = {
  metadata: { component: component('tenon-monorepo') },
  components: [
    component('core-darwin-x64', '@tenon'),
    component('core-linux-x64-gnu', '@tenon'),
    component('core', '@tenon'),
    component('tenon'),
    component('koffi'),
  ],
  dependencies: [
    { ref: 'pkg:npm/%40tenon/core@1.2.3', dependsOn: ['core-darwin-x64', 'koffi'] },
    { ref: 'core-darwin-x64', dependsOn: [] },
  ],
}

const workspace = ['tenon', '@tenon/core', '@tenon/core-darwin-x64', '@tenon/core-linux-x64-gnu']

test('the bill of materials has the tarballs with their digests, their libraries, and the packages of others', () => {
  const sbom = completeSbom(listed, packages, workspace)
  expect(sbom.metadata.component).toMatchObject({ name: 'tenon' })
  expect(sbom.components.map(({ name }) => name)).toEqual(['koffi', 'core-linux-x64-gnu', 'core', 'tenon'])
  expect(sbom.dependencies).toEqual([{ ref: 'pkg:npm/%40tenon/core@1.2.3', dependsOn: ['koffi'] }])
  expect(sbom.components[1]).toMatchObject({
    hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }],
    components: [{ type: 'file', name: 'lib/libtenon.so', hashes: [{ alg: 'SHA-256' }] }],
  })
})

test('the bill of materials must have every package that a published one needs', () => {
  const needy = released('@tenon/serve', { dependencies: { valibot: '^1.0.0' } })
  expect(() => completeSbom(listed, [...packages, needy], workspace)).toThrow('the bill of materials must have valibot')
})
