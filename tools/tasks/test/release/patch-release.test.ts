import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'

import type { NpmPackage } from '@tenon/build/internal'
import { afterEach, beforeEach, expect, test } from 'vitest'

import { root } from '../../src/lib/root.ts'
import { findSetFaults } from '../../src/release/check-set.ts'
import { finishPackage } from '../../src/release/finish-package.ts'
import { packageOf, project } from './fixture.ts'

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly version: string
  readonly dependencies?: Record<string, string>
  readonly peerDependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}

const manifests = ['packages/*/package.json', 'packages/core/npm/*/package.json', 'tools/*/package.json']
const paths = globSync([...manifests, 'examples/*/package.json', 'fixtures/*/package.json'], { cwd: root })

let workspace: string

/** A workspace with the manifests of this one, whose packages have version 0.1.0. */
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'tenon-patch-'))
  for (const path of ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', '.changeset/config.json', ...paths]) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true })
    cpSync(join(root, path), join(workspace, path))
  }
  for (const path of paths) {
    const manifest = JSON.parse(readFileSync(join(workspace, path), 'utf8')) as Manifest
    writeFileSync(join(workspace, path), JSON.stringify({ ...manifest, version: '0.1.0' }, undefined, 2))
  }
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: workspace })
  git('init', '--quiet', '--initial-branch=main')
  git('add', '.')
  git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '--message=start')
})
afterEach(() => rmSync(workspace, { recursive: true }))

/** The public packages as they are packed for a release, by name. Their files are those that say what they depend on. */
function packed(): Map<string, NpmPackage> {
  const all = paths.map((path) => ({
    directory: dirname(path),
    manifest: JSON.parse(readFileSync(join(workspace, path), 'utf8')) as Manifest,
  }))
  const versions = new Map(all.map(({ manifest: { name, version } }) => [name, version]))
  const resolve = (ranges: Record<string, string> = {}): Record<string, string> =>
    Object.fromEntries(
      Object.entries(ranges).map(([name, range]) => [
        name,
        range.startsWith('workspace:')
          ? range.slice('workspace:'.length).replace('*', '') + versions.get(name)!
          : range,
      ]),
    )
  return new Map(
    all
      .filter(({ manifest }) => manifest.private !== true)
      .map(({ directory, manifest }) => {
        const { name, dependencies, peerDependencies, optionalDependencies } = manifest
        const ranges = {
          dependencies: resolve(dependencies),
          peerDependencies: resolve(peerDependencies),
          optionalDependencies: resolve(optionalDependencies),
        }
        const context = { project, directory, notice: '', platformPackages: Object.keys(ranges.optionalDependencies) }
        return [name, finishPackage(packageOf({ ...manifest, ...ranges }, {}), context)]
      }),
  )
}

/** The fields of a package that a registry compares: a package with others must have another version. */
const dependenciesOf = ({ manifest }: NpmPackage): string =>
  JSON.stringify([manifest['dependencies'], manifest['peerDependencies'], manifest['optionalDependencies']])

const faultsOf = (packages: ReadonlyMap<string, NpmPackage>): string[] =>
  findSetFaults([...packages.values()], project.scope, []).filter((fault) => fault.includes('must depend on'))

/** Releases a change of one package. @returns the packages before and after it */
function release(name: string, type: string): [before: Map<string, NpmPackage>, after: Map<string, NpmPackage>] {
  const before = packed()
  writeFileSync(join(workspace, '.changeset/change.md'), `---\n'${name}': ${type}\n---\n\nMended.\n`)
  execFileSync(process.execPath, [join(root, 'node_modules/@changesets/cli/bin.js'), 'version'], {
    cwd: workspace,
    stdio: 'pipe',
  })
  return [before, packed()]
}

const platforms = globSync('packages/core/npm/*', { cwd: root }).map((path) => `@tenon/core-${basename(path)}`)
const last = ['tenon', '@tenon/serve']
const conventions = ['arrow', 'custom-call', 'packed-func', 'scope', 'tensorflow', 'tstring', 'weights'].map(
  (name) => `@tenon/${name}`,
)
const aboveCore = [...conventions, '@tenon/pools', '@tenon/isolate', '@tenon/nnapi', ...last]

test.each([
  ['patch', '@tenon/scope', ['@tenon/weights', ...last]],
  ['patch', '@tenon/build', ['@tenon/bind', ...last]],
  ['patch', '@tenon/bind', last],
  ['patch', '@tenon/tstring', last],
  ['patch', '@tenon/core', [...platforms, ...aboveCore]],
  ['patch', '@tenon/binary', ['@tenon/build', '@tenon/bind', '@tenon/core', ...platforms, ...aboveCore]],
  ['patch', '@tenon/core-linux-x64-gnu', ['@tenon/core', ...platforms, ...aboveCore]],
  ['patch', 'tenon', ['@tenon/serve']],
  ['patch', '@tenon/serve', []],
  ['minor', '@tenon/pools', ['@tenon/isolate', '@tenon/nnapi', ...last]],
  ['minor', '@tenon/serve', []],
])('a %s of %s raises exactly the packages that are packed with its version', (type, name, raised) => {
  const [before, after] = release(name, type)
  const isChanged = (pkg: NpmPackage): boolean => pkg.version !== before.get(pkg.name)!.version
  const changed = [...after.values()].filter(isChanged)
  expect(changed.map((pkg) => pkg.name).toSorted()).toEqual([...new Set([name, ...raised])].toSorted())
  for (const pkg of after.values()) {
    if (dependenciesOf(pkg) !== dependenciesOf(before.get(pkg.name)!)) expect(changed).toContain(pkg)
  }
  expect(after.get(name)!.version).toBe(type === 'patch' ? '0.1.1' : '0.2.0')
  expect(faultsOf(after)).toEqual([])
})

test('each package depends on exact versions of the packages whose internal entries it uses', () => {
  expect(faultsOf(packed())).toEqual([])
  for (const path of paths.filter((one) => one.startsWith('packages/'))) {
    const text = readFileSync(join(workspace, path), 'utf8')
    const { name, dependencies = {} } = JSON.parse(text) as Manifest
    for (const [dependency, range] of Object.entries(dependencies)) {
      if (!range.startsWith('workspace:')) continue
      writeFileSync(
        join(workspace, path),
        text.replace(`"${dependency}": "workspace:*"`, `"${dependency}": "workspace:^"`),
      )
      expect(faultsOf(packed())).toEqual([
        `${name} must depend on ${dependency} 0.1.0, which is published with it, got ^0.1.0`,
      ])
      writeFileSync(join(workspace, path), text)
    }
  }
})
