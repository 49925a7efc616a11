import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { root } from '../../src/lib/root.ts'

interface Manifest {
  readonly name: string
  readonly private?: boolean
  version: string
  readonly dependencies?: Record<string, string>
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

/** The versions of the public packages, and their dependencies as they are packed, by name. */
function packed(): Map<string, { version: string; dependencies: string }> {
  const all = paths.map((path) => JSON.parse(readFileSync(join(workspace, path), 'utf8')) as Manifest)
  const versions = new Map(all.map(({ name, version }) => [name, version]))
  const resolve = ([name, range]: [string, string]): string =>
    `${name}@${range.startsWith('workspace:') ? range.slice('workspace:'.length).replace('*', '') + versions.get(name)! : range}`
  const published = all.filter((manifest) => manifest.private !== true)
  return new Map(
    published.map(({ name, version, dependencies = {} }) => [
      name,
      { version, dependencies: Object.entries(dependencies).map(resolve).join(' ') },
    ]),
  )
}

test.each([
  ['@tenon/scope', ['@tenon/scope', 'tenon', '@tenon/serve']],
  ['@tenon/build', ['@tenon/build']],
  ['@tenon/core', ['@tenon/core', '@tenon/scope', '@tenon/isolate', '@tenon/core-linux-x64-gnu', 'tenon']],
])('a patch of %s raises the packages that are packed with its version', (name, raised) => {
  const before = packed()
  writeFileSync(join(workspace, '.changeset/patch.md'), `---\n'${name}': patch\n---\n\nMended.\n`)
  execFileSync(process.execPath, [join(root, 'node_modules/@changesets/cli/bin.js'), 'version'], {
    cwd: workspace,
    stdio: 'pipe',
  })
  const after = packed()
  for (const [one, { version, dependencies }] of after) {
    const old = before.get(one)!
    if (dependencies !== old.dependencies) expect(version, one).not.toBe(old.version)
  }
  for (const one of raised) expect(after.get(one)!.version, one).toBe('0.1.1')
})
