import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { npm, runCommand } from '@tenon/build/internal'
import { expect, onTestFinished, test } from 'vitest'

import { withoutNpm } from '../../src/lib/run-tool.ts'
import { writeFolder } from '../../src/release/pack-release.ts'
import { readReleasePackages } from '../../src/release/release-packages.ts'

const long = `src/${'a-long-folder/'.repeat(8)}index.ts`

const files = new Map([
  ['lib/tenon-host', { bytes: Buffer.alloc(1000, 7), executable: true }],
  ['package.json', { bytes: Buffer.from('{ "name": "a", "version": "1.0.0" }'), executable: false }],
  [long, { bytes: Buffer.alloc(512), executable: false }],
])

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-tarball-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

test('a tarball that npm packs is read as the files of its folder, programs included, and the same files make the same bytes', async () => {
  const directory = temporary()
  const folder = writeFolder({ files }, join(directory, 'a'))
  const pack = (): Buffer => {
    npm(['pack', folder, '--pack-destination', directory], withoutNpm(process.env))
    return readFileSync(join(directory, 'a-1.0.0.tgz'))
  }
  const bytes = pack()
  expect(pack()).toEqual(bytes)
  for (const path of [directory, folder, join(directory, 'a-1.0.0.tgz')]) {
    const [pkg, ...others] = await readReleasePackages([path])
    expect([pkg!.name, pkg!.version, others.length]).toEqual(['a', '1.0.0', 0])
    // Windows has no such permission.
    if (process.platform !== 'win32') expect(pkg!.files).toEqual(files)
  }
})

test('packages follow those on which they depend', async () => {
  const directory = temporary()
  const write = (name: string, dependencies: Readonly<Record<string, string>>): string => {
    const manifest = JSON.stringify({ name, version: '1.0.0', ...dependencies })
    return writeFolder(
      { files: new Map([['package.json', { bytes: Buffer.from(manifest), executable: false }]]) },
      join(directory, name),
    )
  }
  const on = (field: string, ...names: string[]): object => ({
    [field]: Object.fromEntries(names.map((name) => [name, '1.0.0'])),
  })
  const paths = [
    write('serve', { ...on('dependencies', 'tenon') }),
    write('tenon', { ...on('dependencies', 'core'), ...on('peerDependencies', 'serve') }),
    write('core', { ...on('optionalDependencies', 'core-linux') }),
    write('core-linux', {}),
  ]
  const packages = await readReleasePackages(paths)
  expect(packages.map(({ name }) => name)).toEqual(['core-linux', 'core', 'tenon', 'serve'])
})

test('readReleasePackages() says what a path lacks', async () => {
  const directory = temporary()
  const refuse = (path: string, message: string): Promise<void> =>
    expect(readReleasePackages([path])).rejects.toThrow(
      expect.objectContaining({ name: 'ToolError', message: expect.stringContaining(message) as string }) as Error,
    )
  await refuse(directory, 'must be a package, or contain the tarballs of pnpm release:pack')
  await refuse(join(directory, 'a.tgz'), 'a.tgz does not exist')
  writeFileSync(join(directory, 'text.tgz'), 'text')
  await refuse(join(directory, 'text.tgz'), 'text.tgz is not the tarball of a package')
  mkdirSync(join(directory, 'package'))
  await runCommand('tar', ['-czf', 'a.tgz', 'package'], { cwd: directory })
  await refuse(join(directory, 'a.tgz'), 'must have a package.json with a name and a version')
})
