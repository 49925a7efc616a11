import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { hostPlatform } from '../src/platform.ts'
import type { ExecutableTarget, NativePackage, SharedTarget } from '../src/targets.ts'
import { makePackage, runBin } from './fixture.ts'

const sum: SharedTarget = { name: 'sum', kind: 'shared', sources: ['src/sum.c'], imports: [] }
const program: ExecutableTarget = {
  name: 'sum-host',
  kind: 'executable',
  sources: ['src/main.c'],
  uses: ['sum'],
  imports: ['sum', 'printf', '__libc_start_main', 'malloc'],
}
const files = {
  'src/sum.c':
    '__attribute__((visibility("default"))) int sum(int a, int b);\nint sum(int a, int b) { return a + b; }\n',
  'src/main.c':
    '#include <stdio.h>\nint sum(int a, int b);\nint main(void) { printf("%d!\\n", sum(40, 2)); return 0; }\n',
}
const tableOf = (...targets: NativePackage['targets']): NativePackage => ({ targets, platformPackages: 'npm' })

// A program on Windows has another name, and does not look for libraries by $ORIGIN.
if (process.platform === 'linux')
  describe('an executable', () => {
    test('finds the library that it uses beside itself', () => {
      const fixture = makePackage(tableOf(sum, program), files)
      expect(runBin('build', fixture)).toMatchObject({ code: 0, stderr: '' })
      const { stdout } = spawnSync(join(fixture.directory, 'build/release/sum-host'), { cwd: '/', encoding: 'utf8' })
      expect(stdout).toBe('42!\n')
    })

    test('may only import what its entry lists, and export what its entry names', () => {
      const fixture = makePackage(tableOf(sum, { ...program, imports: ['sum', '__libc_start_main'] }), files)
      expect(runBin('build', fixture)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('its imports must be listed in "imports", got printf'),
      })
      const exporting = `${files['src/main.c']}__attribute__((visibility("default"))) void *malloc(unsigned long size);\nvoid *malloc(unsigned long size) { (void)size; return 0; }\n`
      const unnamed = makePackage(tableOf(sum, program), { ...files, 'src/main.c': exporting })
      expect(runBin('build', unnamed).stderr).toContain('its exports must be listed in "exports", got malloc')
      const named = makePackage(tableOf(sum, { ...program, exports: ['malloc'] }), {
        ...files,
        'src/main.c': exporting,
      })
      expect(runBin('build', named)).toMatchObject({ code: 0, stderr: '' })
    })

    test('is built only on its systems', () => {
      const fixture = makePackage(tableOf(sum, { ...program, systems: ['win32'] }), files)
      expect(runBin('build', fixture).code).toBe(0)
      expect(existsSync(join(fixture.directory, 'build/release/sum-host'))).toBe(false)
    })

    test('is part of the platform package, and stays executable', () => {
      const fixture = makePackage(tableOf(sum, program), files)
      const home = join(fixture.directory, 'npm', hostPlatform.name)
      mkdirSync(home, { recursive: true })
      fixture.write(`npm/${hostPlatform.name}/package.json`, '{}')
      expect(runBin('build', fixture, ['--package'])).toMatchObject({ code: 0, stderr: '' })
      accessSync(join(home, 'lib/sum-host'), constants.X_OK)
      const digests = JSON.parse(readFileSync(join(home, 'lib/SHA256SUMS.json'), 'utf8')) as object
      expect(Object.keys(digests)).toEqual(['libsum.so', 'sum-host'])
    })
  })
