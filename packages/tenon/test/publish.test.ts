import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as tool from '@tenon/build/internal'
import { hostPlatformName } from '@tenon/binary'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { peImage } from '../../binary/test/binary-images.ts'
import { findProjectProblems } from '../src/pack/check-packages.ts'
import { findBuilds } from '../src/pack/find-builds.ts'
import { platformManifest } from '../src/pack/manifests.ts'
import { packProject, readPackages } from '../src/pack/pack-project.ts'
import { makeProject, projectFiles } from './kernel-project.ts'

const { digestsPath, sha256 } = tool
const here = hostPlatformName()
const library = `lib/${tool.sharedLibraryName('adders')}`

let directory: string
let project: tool.Project
let platform: tool.NpmPackage
let main: tool.NpmPackage
beforeAll(async () => {
  directory = makeProject(
    projectFiles({ license: 'MIT' }, `{ libraries: [{ name: 'adders', sources: ['src/*.c'], libraries: ['m'] }] }`),
  )
  project = await tool.loadProject(directory)
  await packProject(tool, project, await findBuilds(tool, project))
  const read = readPackages(tool, directory)
  expect(read.map(({ name }) => name)).toEqual([`@me/adders-${here}`, '@me/adders'])
  platform = read[0]!
  main = read[1]!
})
afterAll(() => rmSync(directory, { recursive: true }))

/** A package with other files. An undefined file is removed. */
function withFiles(
  pkg: tool.NpmPackage,
  changes: Readonly<Record<string, Buffer | string | undefined>>,
): tool.NpmPackage {
  const files = new Map(pkg.files)
  for (const [path, content] of Object.entries(changes)) {
    if (content === undefined) files.delete(path)
    else files.set(path, { bytes: Buffer.from(content as string), executable: false })
  }
  return { ...pkg, files }
}

/** A package with another manifest. */
const withManifest = (pkg: tool.NpmPackage, changes: tool.Manifest): tool.NpmPackage => ({
  ...pkg,
  ...(changes['version'] !== undefined && { version: changes['version'] as string }),
  manifest: { ...pkg.manifest, ...changes },
})

/** A platform package with another library, whose digest is right. */
const withLibrary = (bytes: Buffer): tool.NpmPackage =>
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

const problems = (...pkgs: tool.NpmPackage[]): string[] => findProjectProblems(tool, project, pkgs)

describe('the checks before publishing', () => {
  test('accept what tenon pack writes', () => {
    expect(problems(platform, main)).toEqual([])
  })

  test.each<[string, () => [tool.NpmPackage, tool.NpmPackage], string]>([
    [
      'a library for another machine',
      () => {
        const bytes = Buffer.from(platform.files.get(library)!.bytes)
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
    [
      'no list of digests',
      () => [withFiles(platform, { [digestsPath]: undefined }), main],
      `the package must contain ${digestsPath}`,
    ],
    [
      'a digest of a file that is no library',
      () => [withFiles(platform, { [digestsPath]: JSON.stringify({ 'x.so': '' }) }), main],
      'must not list x.so',
    ],
    [
      'a missing library',
      () => [withFiles(platform, { [library]: undefined }), main],
      `the package must contain ${library}`,
    ],
    [
      'a byte behind a library',
      () => [
        withFiles(platform, { [library]: Buffer.concat([platform.files.get(library)!.bytes, Buffer.alloc(1)]) }),
        main,
      ],
      `${library} must have the digest of ${digestsPath}, `,
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
      'the package must not contain lib/x.so',
    ],
    ['an unknown file in the main package', () => [platform, withFiles(main, { 'x.js': '' })], 'must not contain x.js'],
    [
      'no declarations',
      () => [platform, withFiles(main, { 'index.d.ts': undefined })],
      'the package must contain index.d.ts',
    ],
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
    expect(found.every((line) => line.startsWith('@me/adders'))).toBe(true)
  })

  test('refuse a library for Windows that needs msvcrt.dll', () => {
    const windows = tool.findPlatform('win32-x64')
    const manifest = platformManifest(
      { tool, name: project.name, version: '1.2.3', project: {}, platforms: [] },
      windows,
    )
    const packaged = (bytes: Buffer): tool.NpmPackage => ({
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
    expect(problems(main).join('\n')).toContain(`it depends on @me/adders-${here}, which is not packed`)
    expect(problems(platform).join('\n')).toContain('there must be one package @me/adders, got 0')
    expect(problems(platform, main, { ...platform, name: 'x' }).join('\n')).toContain('its name must be @me/adders')
  })

  test('refuse a folder without packages, and a package without a name', () => {
    expect(() => readPackages(tool, tmpdir())).toThrow('has no packages')
    const other = mkdtempSync(join(directory, 'other-'))
    mkdirSync(join(other, 'dist/npm/x'), { recursive: true })
    writeFileSync(join(other, 'dist/npm/x/package.json'), '{"name":"x"}')
    expect(() => readPackages(tool, other)).toThrow('must have a package.json with a name and a version')
  })
})
