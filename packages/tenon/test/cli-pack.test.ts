import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { hostPlatformName } from '@tenon/binary'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { adding, makeProject, projectFiles } from './kernel-project.ts'
import { runTenon, type Finished } from './run-tenon.ts'

const here = hostPlatformName()
const other = here === 'linux-arm64-gnu' ? 'linux-x64-gnu' : 'linux-arm64-gnu'

let directory: string
beforeAll(() => {
  const platforms = `['${here}', '${other}', 'darwin-arm64']`
  const config = `{ libraries: [{ name: 'adders', sources: ['src/*.c'] }], platforms: ${platforms} }`
  directory = makeProject(projectFiles({}, config))
})
afterAll(() => rmSync(directory, { recursive: true }))

const run = (...args: string[]): Finished => runTenon(args, { cwd: directory })

describe('tenon pack --library', () => {
  let folder: string
  const pack = (...args: string[]): Finished => runTenon(['pack', ...args], { cwd: folder })
  const compiled = (path: string, ...flags: string[]): string => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    const include = runTenon(['include']).stdout.trimEnd()
    execFileSync(process.env['CC'] ?? 'cc', [
      '-shared',
      '-fPIC',
      '-s',
      '-I',
      include,
      join(folder, 'one.c'),
      '-o',
      file,
      ...flags,
    ])
    return path
  }
  /** The file for the other processor, and for another C library. */
  const changed = (from: string, path: string, change: (bytes: Buffer) => Buffer): string => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), change(readFileSync(join(folder, from))))
    return path
  }
  const forOther = (bytes: Buffer): Buffer => {
    bytes.writeUInt16LE(process.arch === 'x64' ? 0xb7 : 0x3e, 18)
    return bytes
  }

  beforeEach(() => {
    const { 'tenon.config.ts': _, ...files } = projectFiles()
    folder = makeProject({ ...files, 'one.c': adding('add_one', 1) })
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('packs a library of another build tool, with the module that tenon publish checks', () => {
    const library = compiled('build/libone.so')
    const { code, stderr } = pack('--library', library)
    expect([code, stderr]).toEqual([0, ''])
    expect(readdirSync(join(folder, 'dist/npm')).toSorted()).toEqual(['me-adders', `me-adders-${here}`])
    expect(readdirSync(join(folder, `dist/npm/me-adders-${here}/lib`)).toSorted()).toEqual([
      'SHA256SUMS.json',
      'libone.so',
    ])
    expect(readFileSync(join(folder, 'dist/npm/me-adders/index.d.ts'), 'utf8')).toContain('add_one')
    expect(runTenon(['publish', '--dry-run'], { cwd: folder })).toEqual({
      code: 0,
      stdout: `@me/adders-${here}@1.2.3: 5 files, checked\n@me/adders@1.2.3: 5 files, checked\n`,
      stderr: '',
    })
  })

  test('sorts the files by the platform in their headers, and names them as the module expects', () => {
    const library = compiled('build/libone.so.1.2')
    const { code, stdout } = pack(
      '--library',
      library,
      '--library',
      changed(library, 'arm/libone.so', forOther),
      '--json',
    )
    expect(code).toBe(0)
    const { packages, missing } = JSON.parse(stdout) as {
      packages: { name: string; files: string[] }[]
      missing: string[]
    }
    expect(missing).toEqual([])
    expect(packages.map(({ name }) => name)).toEqual([
      ...[here, other].toSorted().map((one) => `@me/adders-${one}`),
      '@me/adders',
    ])
    for (const { files } of packages.slice(0, 2)) expect(files).toContain('lib/libone.so')
  })

  test('packs the sidecar of a library', () => {
    const library = compiled('build/libone.so')
    const kernel = { symbol: 'add_one', signature: '(x: f32[4]) -> (y: f32[4])', convention: 'host' }
    const sidecar = JSON.stringify({ tenon: 1, kernels: { add_more: kernel } })
    writeFileSync(join(folder, 'build/libone.tenon.json'), sidecar)
    expect(pack('--library', library)).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(join(folder, `dist/npm/me-adders-${here}/lib`))).toContain('libone.tenon.json')
    expect(runTenon(['publish', '--dry-run'], { cwd: folder })).toMatchObject({ code: 0, stderr: '' })
  })

  test('tenon publish refuses a file that the list of digests does not have', () => {
    pack('--library', compiled('build/libone.so'))
    writeFileSync(join(folder, `dist/npm/me-adders-${here}/lib/libtwo.so`), 'x')
    expect(runTenon(['publish', '--dry-run'], { cwd: folder })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('SHA256SUMS.json must have the digest of lib/libtwo.so') as string,
    })
  })

  test.each<[string, () => string[], string]>([
    [
      'a file with another name',
      () => [compiled('build/one')],
      'must be named as libNAME.so, libNAME.dylib or NAME.dll, got one\n',
    ],
    ['a text', () => ['one.c'], 'the file is not a shared library, but a text file'],
    [
      'a program',
      () => [changed('build/libone.so', 'libone.so', programs)],
      'must be a shared library for one of linux-x64-gnu',
    ],
    ['a missing file', () => ['absent/libone.so'], 'absent/libone.so'],
    ['one library twice', () => ['build/libone.so', compiled('again/libone.so')], `are both one for ${here}`],
    [
      'a platform without one of the libraries',
      () => ['build/libone.so', compiled('build/libtwo.so'), changed('build/libtwo.so', 'arm/libtwo.so', forOther)],
      `there is no one for ${other}, only for another platform\nhint: Pass the file as well: --library path/to/libone.so`,
    ],
  ])('refuses %s', (_, files, text) => {
    compiled('build/libone.so')
    const { code, stderr } = pack(...files().flatMap((file) => ['--library', file]))
    expect([code, stderr]).toEqual([1, expect.stringContaining(text)])
  })

  test('refuses a folder with a configuration, whose libraries tenon build makes', () => {
    const { code, stderr } = run('pack', '--library', 'x.so')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--library cannot be combined with tenon.config.ts')])
  })
})

/** A file whose header says that it is an object file. */
function programs(bytes: Buffer): Buffer {
  bytes.writeUInt16LE(1, 16)
  return bytes
}

describe('tenon pack and tenon publish', () => {
  test('write the packages, name the platforms that are left out, and check what was written', () => {
    expect(run('publish', '--dry-run')).toMatchObject({
      code: 1,
      stderr: `tenon publish: ${join(directory, 'dist/npm')} has no packages\nhint: Run tenon pack.\n`,
    })
    const packed = run('pack')
    expect(packed.stdout).toMatch(
      new RegExp(`^dist/npm/me-adders-${here} +\\d+\\.\\d kB\ndist/npm/me-adders +\\d+\\.\\d kB\n$`),
    )
    expect([packed.code, packed.stderr]).toEqual([
      0,
      `left out, because they are not built: ${other}, darwin-arm64\nhint: Run tenon build --target all, and pack again.\n`,
    ])
    expect(run('publish', '--dry-run')).toEqual({
      code: 0,
      stdout: `@me/adders-${here}@1.2.3: 5 files, checked\n@me/adders@1.2.3: 5 files, checked\n`,
      stderr: `without a package, so that calls fail there: ${other}, darwin-arm64\n`,
    })
  })

  test('print one JSON document with --json', () => {
    const { code, stdout } = run('pack', '--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { name: '@me/adders', version: '1.2.3', exports: ['add_one', 'add_two'], missing: [other, 'darwin-arm64'] },
    ])
    const checked = run('publish', '--dry-run', '--json')
    const files = expect.arrayContaining(['package.json', 'LICENSE']) as string[]
    expect([checked.code, JSON.parse(checked.stdout)]).toEqual([
      0,
      {
        packages: [
          { name: `@me/adders-${here}`, version: '1.2.3', files },
          { name: '@me/adders', version: '1.2.3', files },
        ],
        missing: [other, 'darwin-arm64'],
        published: [],
      },
    ])
  })

  test('a failed check ends with 1 and one sentence for each problem, and a failed run keeps the last packages', () => {
    expect(run('pack').code).toBe(0)
    writeFileSync(join(directory, 'package.json'), projectFiles()['package.json']!.replace('1.2.3', '1.2.4'))
    const { code, stderr } = run('publish')
    expect(code).toBe(1)
    expect(stderr).toContain(
      `nothing was published:\n  @me/adders-${here}: its version must be 1.2.4, that of package.json, got 1.2.3\n` +
        '  @me/adders: its version must be 1.2.4',
    )
    writeFileSync(join(directory, 'src/bad.c'), 'int f(void) { return x; }')
    expect(run('pack').code).toBe(1)
    expect(readdirSync(join(directory, 'dist/npm'))).toHaveLength(2)
  })

  test.each([
    [['publish', '--registry', 'x'], '--registry must be a URL, got x'],
    [['publish', '--tag', '1.0'], '--tag must be a letter'],
    [['publish', '--access', 'all'], '--access'],
    [['publish', 'x'], 'x'],
    [['pack', '--target', 'all'], '--target'],
  ])('%j is a usage error', (args, text) => {
    const { code, stderr } = run(...args)
    expect(code).toBe(2)
    expect(stderr).toContain(text)
  })

  test('in a folder without a configuration end with 1 and say how to make one', () => {
    const empty = mkdtempSync(join(tmpdir(), 'tenon-empty-'))
    const { code, stderr } = runTenon(['pack'], { cwd: empty })
    rmSync(empty, { recursive: true })
    expect([code, stderr]).toEqual([1, expect.stringContaining('has no tenon.config.ts')])
  })
})
