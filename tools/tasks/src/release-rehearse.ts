/**
 * The command `pnpm release:rehearse DIRECTORY [--node 22,24,26]`, which publishes the tarballs of a folder to a registry on this machine,
 * installs them with npm, pnpm and Yarn in empty projects without caches, and uses each package on each tested version of Node.js. It prints
 * a table, and ends with 1 if anything fails: also if pnpm asks about an install script of the umbrella, or if an installation is
 * larger than the documentation says. Needs npm's registry for the packages of others.
 */
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { findNode, testedNodes } from '@tenon/config/node-versions'
import { runMain, ToolError } from '@tenon/build'

import { type PackageManager, packageManagers } from './rehearse/package-managers.ts'
import type { Sandbox } from './rehearse/sandbox.ts'
import { smokeEnd, smokePrograms } from './rehearse/smoke.ts'
import { withPackages } from './rehearse/with-packages.ts'

await runMain(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { node: { type: 'string', default: testedNodes.join(',') } },
  })
  const [folder, ...more] = positionals
  if (folder === undefined || more.length > 0) throw new ToolError('pnpm release:rehearse needs one folder of tarballs')
  const nodes = values.node.split(',').map((major) => ({ major, path: findNode(major) }))
  await withPackages(folder, async ({ registry, sandbox }) => {
    const failures: string[] = []
    let count = 0
    for (const { major, path } of nodes) {
      const row: string[] = []
      for (const manager of packageManagers) {
        const found = await useAll(sandbox(path), manager, registry)
        count += Object.keys(smokePrograms).length
        row.push(`${manager.name} ${Object.keys(smokePrograms).length - found.length}`)
        failures.push(...found.map((failure) => `${manager.name} on Node.js ${major}: ${failure}`))
      }
      process.stdout.write(`Node.js ${major}: ${row.join(', ')}\n`)
    }
    const checks = [
      findOmitted(sandbox()),
      findForeignLibc(sandbox()),
      findQuestions(sandbox(), ['pnpm']),
      findQuestions(sandbox(), ['npx', '--yes', 'pnpm@11.28.10']),
      findSize(sandbox()),
    ]
    for (const check of checks) failures.push(...(await check))
    count += checks.length
    for (const failure of failures) process.stdout.write(`${failure}\n`)
    process.stdout.write(`${count - failures.length} of ${count}\n`)
    if (failures.length > 0) process.exitCode = 1
  })
})

/** Installs all packages in a project, and uses each. @returns why packages could not be used */
async function useAll(sandbox: Sandbox, manager: PackageManager, registry: string): Promise<string[]> {
  const names = Object.keys(smokePrograms)
  sandbox.write({
    'package.json': '{ "name": "user", "type": "module", "private": true }',
    ...Object.fromEntries(names.map((name, i) => [`smoke-${i}.mjs`, smokePrograms[name]!])),
    ...manager.files(registry),
  })
  try {
    const { stdout, stderr } = await sandbox.run(manager.add(names))
    if (/ignored build scripts/i.test(stdout + stderr)) return names.map((name) => `${name}: a script was ignored`)
  } catch (error) {
    return names.map((name) => `${name} was not installed: ${messageOf(error)}`)
  }
  const failures: string[] = []
  for (const [i, name] of names.entries()) {
    try {
      const { stdout, stderr } = await sandbox.run(manager.run(`smoke-${i}.mjs`))
      if (!stdout.endsWith(smokeEnd)) failures.push(`${name}: ${stdout}${stderr}`)
    } catch (error) {
      failures.push(`${name}: ${messageOf(error)}`)
    }
  }
  return failures
}

/** @returns why a program does not get the documented error without optional dependencies */
async function findOmitted({ run, write }: Sandbox): Promise<string[]> {
  write({
    'package.json': '{ "type": "module", "private": true }',
    'use.mjs': `import { tensor } from 'tenon'
try { tensor([1]) } catch (error) { console.log(error.code, error.message) }\n`,
  })
  await run(['npm', 'install', 'tenon', '--omit=optional'])
  const { stdout, stderr } = await run(['node', 'use.mjs'])
  const wanted = stdout.startsWith('TENON_LOAD') && stdout.includes('optional dependencies')
  return wanted ? [] : [`npm install --omit=optional: a program must be told what is missing, got:\n${stdout}${stderr}`]
}

/** @returns which packages for glibc are installed for another C library */
async function findForeignLibc({ run, write }: Sandbox): Promise<string[]> {
  write({ 'package.json': '{ "private": true }' })
  await run(['npm', 'install', 'tenon', '--os=linux', '--libc=musl'])
  const { stdout } = await run(['ls', 'node_modules/@tenon'])
  const installed = stdout.split('\n').filter((name) => name.endsWith('-gnu'))
  return installed.length === 0 ? [] : [`npm install --libc=musl installed ${installed.join(', ')}`]
}

/** @returns why the umbrella cannot be added with a version of pnpm, without a decision about install scripts */
async function findQuestions({ run, write }: Sandbox, pnpm: readonly string[]): Promise<string[]> {
  write({ 'package.json': '{ "private": true }', 'pnpm-workspace.yaml': 'minimumReleaseAge: 0\n' })
  try {
    const { stdout, stderr } = await run([...pnpm, 'add', 'tenon'])
    const isAsked = /ignored build scripts|approve-builds/i.test(stdout + stderr)
    return isAsked ? [`${pnpm.join(' ')} add tenon asked about install scripts:\n${stdout}${stderr}`] : []
  } catch (error) {
    return [messageOf(error)]
  }
}

/** @returns why the smallest installation is larger than the documentation says */
async function findSize({ directory, run, write }: Sandbox): Promise<string[]> {
  write({ 'package.json': '{ "private": true }' })
  await run(['npm', 'install', '@tenon/scope'])
  const files = globSync('**', { cwd: join(directory, 'node_modules'), withFileTypes: true })
  const size = files
    .filter((file) => file.isFile())
    .reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0)
  process.stdout.write(`@tenon/scope alone installs ${(size / 1e6).toFixed(1)} MB\n`)
  const largest = 4_000_000
  return size <= largest ? [] : [`@tenon/scope must install at most ${largest} bytes, got ${size}`]
}

function messageOf(error: unknown): string {
  if (error instanceof ToolError) return error.message
  throw error
}
