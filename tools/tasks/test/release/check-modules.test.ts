import type { Manifest, NpmPackage } from '@tenon/build/internal'
import { describe, expect, test } from 'vitest'

import { findReleaseFaults } from '../../src/release/check-release.ts'
import { carryDigests } from '../../src/release/core-digests.ts'
import { finishPackage } from '../../src/release/finish-package.ts'
import {
  faultsOf,
  native,
  packageOf,
  platformPackage,
  project,
  withFiles,
  withManifest,
  withoutFile,
} from './fixture.ts'

const finish = (pkg: NpmPackage, directory: string, platformPackages: readonly string[] = []): NpmPackage =>
  finishPackage(pkg, { project, directory, notice: 'the notice', platformPackages })

/** A package as `pnpm pack` packs it. */
const packed = (name: string, changes: Manifest = {}): NpmPackage =>
  packageOf(
    {
      name,
      version: '1.2.3',
      scripts: { build: 'tsup' },
      devDependencies: { vitest: '^5.0.0' },
      engines: { node: '>=22.12' },
      publishConfig: { access: 'public', provenance: true },
      ...changes,
    },
    {
      LICENSE: 'the license',
      'README.md': 'The package is not on npm yet. See [how](../../README.md#use). [the core](../core/README.md)',
      'dist/index.js': 'export {}\n//# sourceMappingURL=index.js.map\n',
      'dist/index.d.ts': 'export {}\n//# sourceMappingURL=index.d.ts.map',
      'dist/index.js.map': '{}',
      'src/index.ts': 'the source',
    },
  )

const scope = finish(packed('@tenon/scope'), 'packages/scope')
const faults = (pkg: NpmPackage): string[] => faultsOf([], pkg)

test('a package that is packed for a release can be published', () => {
  expect(faults(scope)).toEqual([])
  expect(scope.manifest).toEqual({
    name: '@tenon/scope',
    version: '1.2.3',
    engines: { node: '>=22.12' },
    publishConfig: { access: 'public', provenance: true },
    repository: { type: 'git', url: 'git+https://github.com/owner/tenon.git', directory: 'packages/scope' },
    homepage: 'https://tenon.example',
    bugs: 'https://github.com/owner/tenon/issues',
  })
  expect(scope.files.get('README.md')!.bytes.toString()).toBe(
    '[the core](https://github.com/owner/tenon/blob/main/packages/core/README.md)',
  )
})

test('a package that is packed for a release has built files alone, which name no sources and maps', () => {
  const core = { '@tenon/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' }
  const exports = { '.': core, './package.json': './package.json' }
  const { manifest, files } = finish(packed('@tenon/scope', { exports }), 'packages/scope')
  expect(manifest['exports']).toEqual({ ...exports, '.': { types: core.types, default: core.default } })
  const built = [...files.keys()].filter((path) => /^(?:dist|src)\//.test(path))
  expect(built).toEqual(['dist/index.js', 'dist/index.d.ts'])
  for (const path of built) expect(files.get(path)!.bytes.toString()).toBe('export {}\n')
})

test('nothing can be published until a person has filled project.json', () => {
  const unfilled = { owner: 'OWNER', repository: 'REPOSITORY', site: 'https://SITE', scope: '@tenon' }
  const context = { project: unfilled, directory: 'packages/scope', notice: '', platformPackages: [] }
  const pkg = finishPackage(packed('@tenon/scope'), context)
  const check = { project: unfilled, native, platforms: [] }
  expect(findReleaseFaults([pkg], check)).toEqual([
    'project.json must name the real owner, repository, site, got OWNER, REPOSITORY, https://SITE',
  ])
  expect(findReleaseFaults([pkg], { ...check, isTrial: true })).toEqual([])
})

describe('a manifest', () => {
  test.each<[string, Manifest, string]>([
    [
      'no repository',
      { repository: undefined },
      'repository in package.json must be {"type":"git","url":"git+https://github.com/owner/tenon.git","directory":""}, got nothing',
    ],
    [
      'another repository',
      { repository: { type: 'git', url: 'git+https://github.com/other/tenon.git', directory: 'packages/scope' } },
      'repository in package.json must be {"type":"git","url":"git+https://github.com/owner/tenon.git","directory":"packages/scope"}, ' +
        'got {"type":"git","url":"git+https://github.com/other/tenon.git","directory":"packages/scope"}',
    ],
    [
      'a folder that does not exist',
      { repository: { ...(scope.manifest['repository'] as object), directory: 'packages/none' } },
      'repository.directory must be the folder of the package, got "packages/none"',
    ],
    ['no homepage', { homepage: undefined }, 'homepage in package.json must be "https://tenon.example", got nothing'],
    [
      'no bugs',
      { bugs: undefined },
      'bugs in package.json must be "https://github.com/owner/tenon/issues", got nothing',
    ],
    [
      'more in publishConfig',
      { publishConfig: { access: 'public', provenance: true, os: ['linux'] } },
      'publishConfig in package.json must be {"access":"public","provenance":true}, got {"access":"public","provenance":true,"os":["linux"]}',
    ],
    ['no engines', { engines: undefined }, 'engines in package.json must be {"node":">=22.12"}, got nothing'],
    ['scripts', { scripts: {} }, 'package.json must not have scripts, got {}'],
    ['devDependencies', { devDependencies: {} }, 'package.json must not have devDependencies, got {}'],
    [
      'workspace: and catalog:',
      { dependencies: { '@tenon/core': 'workspace:^', koffi: 'catalog:', a: '^1.0.0' } },
      'its dependencies must be versions of the registry, got @tenon/core@workspace:^, koffi@catalog:',
    ],
  ])('with %s cannot be published', (_, changes, sentence) => {
    expect(faults(withManifest(scope, changes))).toEqual([`@tenon/scope: ${sentence}`])
  })
})

describe('the files of a package', () => {
  test.each<[string, NpmPackage, string]>([
    ['must not be sources', withFiles(scope, { 'src/a.ts': '' }), 'the package must not contain src/a.ts'],
    ['must not be maps', withFiles(scope, { 'dist/a.js.map': '' }), 'the package must not contain dist/a.js.map'],
    ['must be built', withoutFile(withoutFile(scope, 'dist/index.js'), 'x'), 'the package must contain dist/index.js'],
    ['must have a license', withoutFile(scope, 'LICENSE'), 'the package must contain LICENSE'],
    ['must not be tests', withFiles(scope, { 'test/a.test.ts': '' }), 'the package must not contain test/a.test.ts'],
    [
      'must be small',
      withFiles(scope, { 'dist/index.js': 'x'.repeat(550_000) }),
      `the unpacked package must have at most 550000 bytes, got ${550_000 + sizeOf(scope) - 'export {}\n'.length}`,
    ],
    [
      'must not link to files that are not there',
      withFiles(scope, { 'README.md': '[`a`](../core/README.md#x) [b](dist/index.js) `[c](d)` [e][f]\n\n[f]: g.md\n' }),
      'links of README.md must be absolute or to files of the package, got ../core/README.md#x, g.md',
    ],
    [
      'must not say that it is not published',
      withFiles(scope, { 'README.md': 'It is not on npm yet.' }),
      'README.md must be right once the package is published, got "not on npm yet"',
    ],
  ])('%s', (_, pkg, sentence) => {
    expect(faults(pkg)).toEqual([`@tenon/scope: ${sentence}`])
  })

  test('may be templates with tests', () => {
    expect(faults(withFiles(scope, { 'templates/test/a.test.ts': '' }))).toEqual([])
  })
})

function sizeOf({ files }: NpmPackage): number {
  return [...files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
}

describe('packages that are published together', () => {
  const part = withManifest(scope, { exports: { '.': {}, './linker': {}, './internal': {}, './package.json': '' } })
  const umbrella = finish(
    packed('tenon', {
      dependencies: { '@tenon/scope': '1.2.3' },
      peerDependencies: { '@tenon/bind': '1.2.3', '@tenon/build': '1.2.3' },
      peerDependenciesMeta: { '@tenon/bind': { optional: true }, '@tenon/build': { optional: true } },
      exports: { '.': {}, './scope': {}, './scope/linker': {} },
    }),
    'packages/tenon',
  )

  test('the umbrella has every public entry, and optional peers', () => {
    expect(faultsOf([], part, umbrella)).toEqual([])
    expect(umbrella.manifest['peerDependencies']).toEqual({
      '@tenon/bind': '1.2.3',
      '@tenon/build': '1.2.3',
      '@tenon/serve': '*',
    })
    expect(faultsOf([], part, withManifest(umbrella, { exports: { '.': {}, './scope': {} } }))).toEqual([
      'tenon must export every public entry of its parts, but lacks ./scope/linker',
    ])
    const dependent = { '@tenon/scope': '1.2.3', '@tenon/serve': '1.2.3' }
    expect(faultsOf([], part, withManifest(umbrella, { dependencies: dependent }))).toEqual([
      'tenon must have @tenon/serve as an optional peer and not as a dependency',
    ])
    expect(faultsOf([], part, withManifest(umbrella, { peerDependenciesMeta: undefined }))).toEqual([
      'tenon must have @tenon/bind, @tenon/build, @tenon/serve as an optional peer and not as a dependency',
    ])
  })

  test('depend on the versions of each other', () => {
    expect(faultsOf([], withManifest(part, { version: '1.3.0' }), umbrella)).toEqual([
      'tenon must depend on @tenon/scope 1.3.0, which is published with it, got 1.2.3',
    ])
    expect(faultsOf([], withManifest(scope, { name: '@tenon/build', version: '1.3.0' }), umbrella)).toContain(
      'tenon must depend on @tenon/build 1.3.0, which is published with it, got 1.2.3',
    )
  })

  test.each(['^1.2.3', '~1.2.3', '>=1.2.3', '1.x', '*', 'latest'])(
    'depend on exact versions of each other, and not on %s',
    (range) => {
      expect(faultsOf([], part, withManifest(umbrella, { dependencies: { '@tenon/scope': range } }))).toEqual([
        `tenon must depend on @tenon/scope 1.2.3, which is published with it, got ${range}`,
      ])
    },
  )

  test('may have any version of the server, which depends on one version of the umbrella', () => {
    const serve = finish(
      packed('@tenon/serve', { version: '1.4.0', dependencies: { tenon: '1.2.3' } }),
      'packages/serve',
    )
    expect(faultsOf([], part, umbrella, serve)).toEqual([])
    expect(faultsOf([], part, umbrella, withManifest(serve, { dependencies: { tenon: '^1.2.3' } }))).toEqual([
      '@tenon/serve must depend on tenon 1.2.3, which is published with it, got ^1.2.3',
    ])
  })

  test('the core depends on the packages of the released platforms alone, which are published with it', () => {
    const [released, other] = ['@tenon/core-linux-x64-gnu', '@tenon/core-darwin-arm64'] as const
    const source = packed('@tenon/core', { optionalDependencies: { [released]: '1.2.3', [other]: '1.2.3' } })
    const core = carryDigests([finish(source, 'packages/core', [released])], '@tenon')[0]!
    expect(core.manifest['optionalDependencies']).toEqual({ [released]: '1.2.3' })
    expect(faultsOf(['linux-x64-gnu'], core)).toEqual([
      `the packages of the core must be published with it, but ${released} is not there`,
    ])
    const platform = platformPackage('linux-x64-gnu', Buffer.from('x'))
    const both = carryDigests([core, platform], '@tenon')
    expect(faultsOf(['linux-x64-gnu'], ...both)).toEqual([expect.stringContaining('not a shared library')])
    const more = withManifest(core, { optionalDependencies: { [released]: '1.2.3', [other]: '1.2.3' } })
    expect(faultsOf(['linux-x64-gnu'], more, platform)).toContain(
      `optionalDependencies of @tenon/core must be ${released}@1.2.3, got ${released}@1.2.3, ${other}@1.2.3`,
    )
    const newer = withManifest(platform, { version: '1.2.4' })
    expect(faultsOf(['linux-x64-gnu'], ...carryDigests([core, newer], '@tenon'))).toEqual([
      expect.stringContaining('not a shared library'),
      `@tenon/core must depend on ${released} 1.2.4, which is published with it, got 1.2.3`,
      `the packages of the core must be published with it, but ${released} is not there`,
    ])
  })
})
