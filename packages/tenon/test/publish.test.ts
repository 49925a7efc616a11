import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as tool from '@tenon/build'
import { hostPlatformName } from '@tenon/binary'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { peImage } from '../../binary/test/binary-images.ts'
import { findPackageProblems } from '../src/pack/check-packages.ts'
import { findBuilds } from '../src/pack/find-builds.ts'
import { platformManifest, type Manifest } from '../src/pack/manifests.ts'
import { digestsPath, packProject, sha256 } from '../src/pack/pack-project.ts'
import { publishPackages } from '../src/pack/publish-packages.ts'
import { readPackages, type Tarball } from '../src/pack/read-packages.ts'
import { writeTarball } from '../src/pack/tarball.ts'
import { makeProject, projectFiles } from './kernel-project.ts'

const here = hostPlatformName()
const library = `lib/${tool.sharedLibraryName('adders')}`

let directory: string
let project: tool.Project
let platform: Tarball
let main: Tarball
beforeAll(async () => {
  directory = makeProject(
    projectFiles({ license: 'MIT' }, `{ libraries: [{ name: 'adders', sources: ['src/*.c'], libraries: ['m'] }] }`),
  )
  project = await tool.loadProject(directory)
  packProject(tool, project, await findBuilds(tool, project))
  const read = readPackages(directory, project.name)
  expect(read.map(({ name }) => name)).toEqual([`@me/adders-${here}`, '@me/adders'])
  ;[platform, main] = read as [Tarball, Tarball]
})
afterAll(() => rmSync(directory, { recursive: true }))

/** A package with other files. An undefined file is removed. */
function withFiles(tarball: Tarball, changes: Readonly<Record<string, Buffer | string | undefined>>): Tarball {
  const all = { ...Object.fromEntries(tarball.files), ...changes }
  const kept = Object.entries(all).filter((entry): entry is [string, Buffer | string] => entry[1] !== undefined)
  return { ...tarball, files: new Map(kept.map(([path, content]) => [path, Buffer.from(content)])) }
}

/** A package with another manifest. */
const withManifest = (tarball: Tarball, changes: Manifest): Tarball => ({
  ...tarball,
  ...(changes['version'] !== undefined && { version: changes['version'] as string }),
  manifest: { ...tarball.manifest, ...changes },
})

/** A platform package with another library, whose digest is right. */
const withLibrary = (bytes: Buffer): Tarball =>
  withFiles(platform, {
    [library]: bytes,
    [digestsPath]: JSON.stringify({ [library.slice('lib/'.length)]: sha256(bytes) }),
  })

/** Compiles a library, which must not be published. */
function compiled(...flags: string[]): Buffer {
  const output = join(directory, 'build/odd.so')
  const source = join(directory, 'src/one.c')
  const include = tool.headersDirectory(directory)
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-I', include, source, '-o', output, ...flags])
  return readFileSync(output)
}

const problems = (...tarballs: Tarball[]): string[] => findPackageProblems(tool, project, tarballs)

describe('the checks before publishing', () => {
  test('accept what tenon pack writes', () => {
    expect(problems(platform, main)).toEqual([])
  })

  test.each<[string, () => [Tarball, Tarball], string]>([
    [
      'a library for another machine',
      () => {
        const bytes = Buffer.from(platform.files.get(library)!)
        bytes.writeUInt16LE(process.arch === 'x64' ? 0xb7 : 0x3e, 18)
        return [withLibrary(bytes), main]
      },
      `${library}: its machine must be that of ${here}`,
    ],
    ['an empty list of digests', () => [withFiles(platform, { [digestsPath]: '{}' }), main], 'must have the digest of'],
    [
      'a damaged list of digests',
      () => [withFiles(platform, { [digestsPath]: 'x' }), main],
      `${digestsPath} must be a JSON object`,
    ],
    ['no list of digests', () => [withFiles(platform, { [digestsPath]: undefined }), main], `it lacks ${digestsPath}`],
    [
      'a digest of a file that is no library',
      () => [withFiles(platform, { [digestsPath]: JSON.stringify({ 'x.so': '' }) }), main],
      'must not have lib/x.so',
    ],
    ['a missing library', () => [withFiles(platform, { [library]: undefined }), main], `it lacks ${library}`],
    [
      'a byte behind a library',
      () => [withFiles(platform, { [library]: Buffer.concat([platform.files.get(library)!, Buffer.alloc(1)]) }), main],
      'so it was changed after tenon pack',
    ],
    ['a file that is no library', () => [withLibrary(Buffer.from('text')), main], 'the file is not a shared library'],
    ['a library with symbols for debuggers', () => [withLibrary(compiled('-g')), main], 'strip it'],
    [
      'a run path',
      () => [withLibrary(compiled('-s', '-Wl,-rpath,/opt/lib')), main],
      'it must search for libraries only beside itself, got /opt/lib',
    ],
    [
      'a library that users may lack',
      () => {
        compiled('-s', '-Wl,-soname,libabsent.so.1')
        renameSync(join(directory, 'build/odd.so'), join(directory, 'build/absent.so'))
        return [withLibrary(compiled('-s', '-Wl,--no-as-needed', join(directory, 'build/absent.so'))), main]
      },
      'it must not depend on libraries that may be absent, got libabsent.so.1',
    ],
    [
      'an unknown file in a platform package',
      () => [withFiles(platform, { 'lib/x.so': '' }), main],
      'it must not contain lib/x.so',
    ],
    ['an unknown file in the main package', () => [platform, withFiles(main, { 'x.js': '' })], 'must not contain x.js'],
    ['no declarations', () => [platform, withFiles(main, { 'index.d.ts': undefined })], 'it lacks index.d.ts'],
    ['another version', () => [platform, withManifest(main, { version: '1.2.4' })], 'its version must be 1.2.3'],
    [
      'another version of a platform package',
      () => [platform, withManifest(main, { optionalDependencies: { [platform.name]: '^1.2.3' } })],
      'its optionalDependencies must be',
    ],
    [
      'no dependency on a platform package',
      () => [platform, withManifest(main, { optionalDependencies: {} })],
      'its optionalDependencies must be',
    ],
    ['a script', () => [platform, withManifest(main, { scripts: { install: 'x' } })], 'must not have scripts'],
    [
      'another dependency',
      () => [platform, withManifest(main, { dependencies: { tenon: '^1', koffi: '^3' } })],
      'it must depend on tenon alone, got tenon, koffi',
    ],
    [
      'a dependency on a checkout',
      () => [platform, withManifest(main, { dependencies: { tenon: 'workspace:^' } })],
      'must be versions of the registry, got tenon@workspace:^',
    ],
    [
      'provenance without a repository',
      () => [platform, withManifest(main, { publishConfig: { provenance: true } })],
      'must have a repository',
    ],
    ['another system', () => [withManifest(platform, { os: ['aix'] }), main], 'os in package.json must be'],
    ['engines', () => [withManifest(platform, { engines: { node: '>=22' } }), main], 'must not have engines'],
    [
      'a broken link',
      () => [
        platform,
        withFiles(main, { 'README.md': '[a](docs/a.md) [b](LICENSE) [c](https://example.org) `[d](e)`' }),
      ],
      'links of README.md must be absolute or to files of the package, got docs/a.md',
    ],
  ])('refuse %s', (_name, make, sentence) => {
    const found = problems(...make())
    expect(found.join('\n')).toContain(sentence)
    expect(found.every((line) => line.startsWith('me-adders-'))).toBe(true)
  })

  test('refuse a library for Windows that needs msvcrt.dll', () => {
    const windows = tool.findPlatform('win32-x64')
    const manifest = platformManifest({ name: project.name, version: '1.2.3', project: {}, platforms: [] }, windows)
    const packaged = (bytes: Buffer): Tarball => ({
      ...withFiles(platform, {
        [library]: undefined,
        'lib/adders.dll': bytes,
        [digestsPath]: JSON.stringify({ 'adders.dll': sha256(bytes) }),
      }),
      name: manifest['name'] as string,
      manifest,
    })
    const user = withManifest(main, { optionalDependencies: { [manifest['name'] as string]: '1.2.3' } })
    const universal = peImage()
    expect(problems(packaged(universal), user)).toEqual([])
    const old = Buffer.from(universal.toString('latin1').replace('ucrtbase.dll', 'msvcrt.dll\0\0'), 'latin1')
    expect(problems(packaged(old), user).join('\n')).toContain("the C library of today's Windows, got msvcrt.dll")
  })

  test('refuse a platform package that is missing, and a package of another name', () => {
    expect(problems(main).join('\n')).toContain(`it depends on @me/adders-${here}, of which there is no tarball`)
    expect(problems(platform).join('\n')).toContain('there must be one package @me/adders, got 0')
    expect(problems(platform, main, { ...platform, name: 'x' }).join('\n')).toContain('its name must be @me/adders')
  })

  test('refuse a folder without packages, and damaged ones', () => {
    expect(() => readPackages(tmpdir(), 'x')).toThrow('has no packages')
    const other = mkdtempSync(join(directory, 'other-'))
    mkdirSync(join(other, 'dist/npm'), { recursive: true })
    const write = (bytes: Buffer): void => writeFileSync(join(other, 'dist/npm/x.tgz'), bytes)
    const file = { path: 'package.json', bytes: Buffer.from('{"name":"x"}') }
    write(writeTarball([file]))
    expect(() => readPackages(other, 'x')).toThrow('x.tgz must have a package.json with a name and a version')
    write(writeTarball([file, file]))
    expect(() => readPackages(other, 'x')).toThrow('x.tgz has a file twice')
    write(Buffer.from('x'))
    expect(() => readPackages(other, 'x')).toThrow('x.tgz is not the tarball of a package')
  })
})

describe('publishing', () => {
  let folder: string
  const path = process.env['PATH']
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tenon-npm-'))
    process.env['PATH'] = `${folder}:${path}`
    return () => {
      process.env['PATH'] = path
      rmSync(folder, { recursive: true })
    }
  })

  /** An npm that writes down its arguments. @param view what `npm view` does @param publish what `npm publish` does */
  function fakeNpm(view: string, publish = ''): void {
    const script = `#!/bin/sh\necho "$@" >> ${folder}/calls\ncase $1 in\nview) ${view} ;;\npublish) ${publish || ':'} ;;\nesac\n`
    writeFileSync(join(folder, 'npm'), script)
    chmodSync(join(folder, 'npm'), 0o755)
  }
  const calls = (): string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')
  const notFound = `echo '{"error":{"code":"E404"}}'; exit 1`
  const publish = (options = {}): string[] => {
    const lines: string[] = []
    publishPackages([platform, main], options, (line) => lines.push(line))
    return lines
  }

  test('publishes the platform packages first, and passes its options on', () => {
    fakeNpm(notFound)
    const registry = 'http://localhost:4873'
    expect(publish({ registry, tag: 'next', access: 'public' })).toEqual([
      `publishing @me/adders-${here}@1.2.3`,
      'publishing @me/adders@1.2.3',
    ])
    expect(calls()).toEqual([
      `view @me/adders-${here}@1.2.3 dist.integrity --json --registry=${registry}`,
      `view @me/adders@1.2.3 dist.integrity --json --registry=${registry}`,
      `publish ${platform.path} --registry=${registry} --tag=next --access=public`,
      `publish ${main.path} --registry=${registry} --tag=next --access=public`,
    ])
  })

  test('skips a package that is published already', () => {
    const digest = createHash('sha512').update(platform.bytes).digest('base64')
    fakeNpm(`case $2 in *-${here}@*) echo '"sha512-${digest}"' ;; esac`)
    expect(publish()).toEqual([`@me/adders-${here}@1.2.3 is published already`, 'publishing @me/adders@1.2.3'])
    expect(calls().at(-1)).toBe(`publish ${main.path}`)
  })

  test('publishes nothing if the registry has other contents under the version', () => {
    fakeNpm(`case $2 in *-${here}@*) ${notFound} ;; *) echo '"sha512-x"' ;; esac`)
    expect(() => publish()).toThrow('the registry has @me/adders@1.2.3 with other contents')
    expect(calls().filter((line) => line.startsWith('publish'))).toEqual([])
  })

  test('stops when npm fails, or cannot reach the registry', () => {
    fakeNpm(notFound, 'exit 1')
    expect(() => publish()).toThrow(`npm could not publish @me/adders-${here}@1.2.3`)
    fakeNpm(`echo '{"error":{"code":"ECONNREFUSED","summary":"no connection"}}'; exit 1`)
    expect(() => publish()).toThrow(`npm could not ask the registry for @me/adders-${here}: no connection`)
  })

  test('says so if npm is not installed', () => {
    process.env['PATH'] = folder
    expect(() => publish()).toThrow('npm could not be run: spawnSync npm ENOENT')
  })
})
