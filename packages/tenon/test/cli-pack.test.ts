import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPlatformName } from '@tenon/binary'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeProject, projectFiles } from './kernel-project.ts'
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
