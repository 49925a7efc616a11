import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { root } from '../../src/lib/root.ts'
import { capturePnpm } from '../../src/lib/run-tool.ts'

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

test('the core is not packed alone, without the digests of its libraries', async () => {
  const directory = temporaryDirectory()
  const args = ['pack', '--pack-destination', directory]
  const { code, stdout, stderr } = await capturePnpm(args, { cwd: join(root, 'packages/core') })
  expect(code).toBe(1)
  expect(`${stdout}${stderr}`).toContain('Run pnpm release:pack DIRECTORY')
  expect(readdirSync(directory)).toEqual([])
})

const others = [
  'arrow',
  'binary',
  'bind',
  'build',
  'custom-call',
  'isolate',
  'nnapi',
  'packed-func',
  'pools',
  'scope',
  'serve',
]

test.each([...others, 'tensorflow', 'tenon', 'tstring', 'weights'])(
  '%s is packed with all files that it needs, and exact versions',
  async (folder) => {
    const directory = temporaryDirectory()
    const cwd = join(root, 'packages', folder)
    const { code, stdout } = await capturePnpm(['pack', '--json', '--pack-destination', directory], { cwd })
    expect(code).toBe(0)
    const { name, filename } = JSON.parse(stdout) as { readonly name: string; readonly filename: string }
    // The packed files beside the packages of the workspace that they depend on.
    const installed = join(directory, 'node_modules', name)
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', filename, '-C', installed, '--strip-components=1'])
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
      readonly dependencies?: Record<string, string>
      readonly peerDependencies?: Record<string, string>
      readonly exports: Record<string, unknown>
    }
    for (const [dependency, range] of Object.entries({ ...manifest.peerDependencies, ...manifest.dependencies })) {
      const target = join(cwd, 'node_modules', dependency)
      if (!existsSync(target)) continue
      const place = join(directory, 'node_modules', dependency)
      mkdirSync(dirname(place), { recursive: true })
      symlinkSync(target, place, 'junction')
      if (!/^(?:@tenon\/|tenon$)/.test(dependency)) continue
      const { version } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8')) as { readonly version: string }
      expect(range, dependency).toBe(version)
    }
    // Entries of programs, and those for packages that this workspace may lack.
    const started = /\/(?:worker-process|driver-process|koffi|bundler|testing)$/
    const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json') && !started.test(entry))
    const script = `for (const entry of ${JSON.stringify(entries)}) {
    const names = Object.keys(await import(${JSON.stringify(name)} + entry.slice(1)))
    if (names.length === 0 && entry !== '.') throw new Error(entry + ' exports nothing')
  }`
    execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: directory, stdio: 'pipe' })
  },
)
