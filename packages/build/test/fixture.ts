import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { onTestFinished } from 'vitest'

import type { NativePackage } from '../src/targets.ts'

/** A package in a temporary directory, gone when the test is. */
export interface Fixture {
  readonly directory: string
  write(path: string, content: string): void
}

/** Makes a package with these native targets and files. */
export function makePackage(native: NativePackage, files: Record<string, string>): Fixture {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-build-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
  write('package.json', JSON.stringify({ name: 'fixture', version: '1.2.3', type: 'module' }))
  write('native.targets.ts', `export default ${JSON.stringify(native)}`)
  for (const [path, content] of Object.entries(files)) write(path, content)
  return { directory, write }
}

/** Runs `tenon-build` or `tenon-test` as a user does. */
export function runBin(
  bin: 'build' | 'test',
  fixture: Fixture,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): { code: number | null; stdout: string; stderr: string } {
  const script = join(import.meta.dirname, `../src/bin/${bin}.ts`)
  const result = spawnSync(process.execPath, [script, ...args], {
    cwd: fixture.directory,
    env: { ...process.env, TENON_VARIANT: '', ...env },
    encoding: 'utf8',
  })
  return { code: result.status, stdout: result.stdout, stderr: result.stderr }
}
