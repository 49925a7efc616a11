import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as tool from '@tenon/build/internal'
import { hostPlatformName } from '@tenon/binary'
import { runScript } from '@tenon/core/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkProject } from '../bench/declaration-project.ts'
import { findBuilds } from '../src/pack/find-builds.ts'
import { packProject, type PackedPackage, type PackedProject } from '../src/pack/pack-project.ts'
import { packageManifest } from '../src/version.ts'
import { install, makeProject, projectFiles } from './kernel-project.ts'

const { digestsPath, sha256 } = tool
const compiler = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
const here = hostPlatformName()
const other = here === 'linux-arm64-gnu' ? 'linux-x64-gnu' : 'linux-arm64-gnu'

const made: string[] = []
afterAll(() => made.forEach((directory) => rmSync(directory, { recursive: true })))

const project = (...options: Parameters<typeof projectFiles>): string => {
  const directory = makeProject(projectFiles(...options))
  made.push(directory)
  return directory
}

async function pack(directory: string): Promise<PackedProject> {
  const loaded = await tool.loadProject(directory)
  return packProject(tool, loaded, await findBuilds(tool, loaded))
}

const packageOf = ({ packages }: PackedProject, name: string): PackedPackage =>
  packages.find((one) => one.name === name)!

const library = '{ name: "adders", sources: ["src/*.c"] }'

describe('the packages of a project', () => {
  let packed: PackedProject
  let directory: string
  beforeAll(async () => {
    directory = project({
      description: 'Adds.',
      keywords: ['sum'],
      license: 'MIT',
      repository: 'github:me/adders',
      scripts: { postinstall: 'exit 1' },
      dependencies: { tenon: '^0.0.0', lodash: '^4.0.0' },
      devDependencies: { '@tenon/build': 'workspace:*' },
    })
    packed = await pack(directory)
  })

  test('are one for the module and one for each platform, as folders in dist/npm', () => {
    expect(packed.packages.map(({ name, directory: folder }) => [name, folder])).toEqual([
      [`@me/adders-${here}`, join(directory, `dist/npm/me-adders-${here}`)],
      ['@me/adders', join(directory, 'dist/npm/me-adders')],
    ])
    expect(readdirSync(join(directory, 'dist/npm'))).toHaveLength(2)
    expect(readdirSync(join(directory, 'dist'))).toEqual(['npm'])
  })

  test('the main package depends on tenon, and optionally on every platform package in its own version', () => {
    expect(packageOf(packed, '@me/adders').manifest).toEqual({
      name: '@me/adders',
      version: '1.2.3',
      description: 'Adds.',
      keywords: ['sum'],
      license: 'MIT',
      repository: 'github:me/adders',
      type: 'module',
      exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
      dependencies: { tenon: '^0.0.0' },
      optionalDependencies: { [`@me/adders-${here}`]: '1.2.3' },
      engines: packageManifest().engines,
    })
    expect([...packageOf(packed, '@me/adders').files.keys()]).toEqual([
      'LICENSE',
      'README.md',
      'index.d.ts',
      'index.js',
      'package.json',
    ])
  })

  test('a platform package has its libraries and their digests, and nothing that runs', () => {
    const [os, cpu, libc] = here.split('-')
    expect(packageOf(packed, `@me/adders-${here}`).manifest).toEqual({
      name: `@me/adders-${here}`,
      version: '1.2.3',
      description: `The libraries of @me/adders for ${here}.`,
      license: 'MIT',
      repository: 'github:me/adders',
      os: [os],
      cpu: [cpu],
      ...(libc !== undefined && { libc: [libc === 'gnu' ? 'glibc' : libc] }),
      exports: { './package.json': './package.json', './lib/*': './lib/*' },
      preferUnplugged: true,
    })
    const { files } = packageOf(packed, `@me/adders-${here}`)
    const file = tool.sharedLibraryName('adders')
    expect([...files.keys()]).toEqual(['LICENSE', 'README.md', digestsPath, `lib/${file}`, 'package.json'])
    expect(JSON.parse(files.get(digestsPath)!.bytes.toString())).toEqual({
      [file]: sha256(files.get(`lib/${file}`)!.bytes),
    })
  })

  test('are the same files when nothing has changed, all of which npm packs', async () => {
    const again = await pack(directory)
    expect(again.packages).toEqual(packed.packages)
    for (const { directory: folder, files } of again.packages) {
      const { stdout } = tool.npm(['pack', '--dry-run', '--json', folder])
      const [{ files: listed }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
      expect(listed.map(({ path }) => path).toSorted()).toEqual([...files.keys()])
    }
  })

  test('run where they are installed, and open the library at the first call', async () => {
    const user = mkdtempSync(join(tmpdir(), 'tenon-user-'))
    made.push(user)
    install(user)
    for (const { name, directory: folder } of packed.packages)
      cpSync(folder, join(user, 'node_modules', name), { recursive: true })
    // Deno looks for packages where one is.
    writeFileSync(join(user, 'package.json'), '{}')
    const source = `
      import { tensor } from 'tenon'
      import { add_one, add_two } from '@me/adders'
      console.log(add_one(tensor('f32', [4], [1, 2, 3, 4])).toArray(), (await add_two.async(tensor('f32', [4]))).toArray())`
    const { stdout, stderr } = await runScript(source, { cwd: user })
    expect([stdout, stderr]).toEqual(['[ 2, 3, 4, 5 ] [ 2, 2, 2, 2 ]\n', ''])
    rmSync(join(user, `node_modules/@me/adders-${here}`), { recursive: true })
    const absent = await runScript(
      `import { add_one } from '@me/adders'
      try { add_one() } catch (error) { console.log(error.code, error.sentence) }`,
      { cwd: user },
    )
    expect(absent.stdout).toBe(
      `TENON_LOAD no platform package of @me/adders is installed: @me/adders is published for ${here}, ` +
        `this process runs on ${here}\n`,
    )
  })

  test.each([
    { module: 'nodenext', skipLibCheck: false },
    { module: 'bundler', skipLibCheck: false },
  ] as const)('have declarations that compile with %j', (options) => {
    const user = mkdtempSync(join(tmpdir(), 'tenon-user-'))
    made.push(user)
    install(user)
    mkdirSync(join(user, 'node_modules/@types'))
    symlinkSync(
      fileURLToPath(new URL('../../../node_modules/@types/node', import.meta.url)),
      join(user, 'node_modules/@types/node'),
    )
    cpSync(packageOf(packed, '@me/adders').directory, join(user, 'node_modules/@me/adders'), { recursive: true })
    writeFileSync(join(user, 'package.json'), '{ "type": "module" }')
    const use = `import { tensor, type Tensor } from 'tenon'
import { add_one } from '@me/adders'
export const y: Tensor<'float32'> = add_one(tensor('f32', [4]))\n`
    writeFileSync(join(user, 'use.ts'), use)
    expect(checkProject(user, compiler, options)).toBe('')
    writeFileSync(join(user, 'use.ts'), use.replace("'f32'", "'s32'"))
    expect(checkProject(user, compiler, options)).toContain('TS2345')
  })
})

describe('tenon pack', () => {
  test('builds what has changed before it packs the library of this machine', async () => {
    const directory = project()
    await pack(directory)
    writeFileSync(join(directory, 'src/three.c'), projectFiles()['src/one.c']!.replaceAll('add_one', 'add_three'))
    expect((await pack(directory)).module.names).toContain('add_three')
  })

  test('leaves out platforms that are not built, and names them', async () => {
    const directory = project({}, `{ libraries: [${library}], platforms: ['${here}', '${other}', 'darwin-arm64'] }`)
    const loaded = await tool.loadProject(directory)
    const { builds, missing } = await findBuilds(tool, loaded)
    expect(builds.map(({ platform }) => platform.name)).toEqual([here])
    expect(missing.map(({ name }) => name)).toEqual([other, 'darwin-arm64'])
  })

  test('packs builds of other machines, and refuses those that are older than a source', async () => {
    const directory = project({}, `{ libraries: [${library}], platforms: ['${here}', '${other}'] }`)
    const file = join(directory, tool.buildDirectory('release', tool.findPlatform(other)), 'libadders.so')
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, 'a library')
    expect((await pack(directory)).packages.map(({ name }) => name)).toEqual([
      ...[here, other].toSorted().map((name) => `@me/adders-${name}`),
      '@me/adders',
    ])
    utimesSync(file, 1, 1)
    await expect(pack(directory)).rejects.toThrow(`libadders.so is older than src/one.c`)
  })

  test('refuses a platform whose build lacks a library', async () => {
    const second = '{ name: "others", sources: ["src/*.c"] }'
    const directory = project({}, `{ libraries: [${library}, ${second}], platforms: ['${here}', '${other}'] }`)
    const file = join(directory, tool.buildDirectory('release', tool.findPlatform(other)), 'libadders.so')
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, 'a library')
    await expect(pack(directory)).rejects.toThrow(`the build for ${other} lacks others`)
  })

  test('prefers the build for older systems of this machine, which tenon build --target makes', async () => {
    const directory = project()
    const loaded = await tool.loadProject(directory)
    const [built] = await tool.buildPackage(loaded, { variant: 'release', kinds: ['shared'] })
    const portable = join(directory, tool.buildDirectory('release', tool.hostPlatform, true))
    mkdirSync(portable, { recursive: true })
    copyFileSync(built!.path, join(portable, basename(built!.path)))
    const { builds } = await findBuilds(tool, loaded)
    expect(builds.map(({ libraries }) => libraries.map(({ path }) => path))).toEqual([
      [join(portable, basename(built!.path))],
    ])
  })

  test('needs no library with symbols of the process on Windows, where it cannot be built', async () => {
    const packed = '{ name: "packed", sources: ["src/one.c"], unresolved: ["TVMFFI*"] }'
    const directory = project({}, `{ libraries: [${library}, ${packed}], platforms: ['win32-x64', 'darwin-arm64'] }`)
    for (const [name, file] of [
      ['win32-x64', 'adders.dll'],
      ['darwin-arm64', 'libadders.dylib'],
    ] as const) {
      const place = join(directory, tool.buildDirectory('release', tool.findPlatform(name)))
      mkdirSync(place, { recursive: true })
      writeFileSync(join(place, file), 'a library')
    }
    const loaded = await tool.loadProject(directory)
    await expect(findBuilds(tool, loaded)).rejects.toThrow('the build for darwin-arm64 lacks packed')
    rmSync(join(directory, 'build/darwin-arm64'), { recursive: true })
    const { builds } = await findBuilds(tool, loaded)
    expect(builds.map(({ libraries }) => libraries.map(({ name }) => name))).toEqual([['adders']])
  })

  test('refuses a project without a build, without a README, or with a name that is too long', async () => {
    const unbuilt = project({}, `{ libraries: [${library}], platforms: ['${other}'] }`)
    await expect(pack(unbuilt)).rejects.toThrow(
      `@me/adders is not built for any platform of its configuration: ${other}`,
    )
    const silent = project()
    rmSync(join(silent, 'README.md'))
    await expect(pack(silent)).rejects.toThrow('has no README.md')
    const long = project({ name: 'a'.repeat(210) })
    await expect(pack(long)).rejects.toThrow('the name of a package must have at most 214 characters')
  })
})
