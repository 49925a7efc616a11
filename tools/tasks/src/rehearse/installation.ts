import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { ToolError } from '@tenon/build'

import type { Rehearsal, Sandbox } from './rehearsal.ts'

/** The most bytes that `@tenon/scope` and what it needs may take. */
const largestScope = 4_000_000

/** Adds the umbrella and the smallest package to empty projects. Prints what is wrong, and then sets the exit code 1. */
export async function checkInstallation({ sandbox }: Rehearsal): Promise<void> {
  const failures = [
    ...(await findQuestions(sandbox(), ['pnpm'])),
    ...(await findQuestions(sandbox(), ['npx', '--yes', 'pnpm@11.28.10'])),
    ...(await findSize(sandbox())),
  ]
  for (const failure of failures) process.stdout.write(`${failure}\n`)
  if (failures.length > 0) process.exitCode = 1
}

/** @returns why the umbrella cannot be added with a version of pnpm, without a decision about install scripts */
async function findQuestions({ run, write }: Sandbox, pnpm: readonly string[]): Promise<string[]> {
  write({ 'package.json': '{ "private": true }', 'pnpm-workspace.yaml': 'minimumReleaseAge: 0\n' })
  try {
    const { stdout, stderr } = await run([...pnpm, 'add', 'tenon'])
    const isAsked = /ignored build scripts|approve-builds/i.test(stdout + stderr)
    return isAsked ? [`${pnpm.join(' ')} add tenon asked about install scripts:\n${stdout}${stderr}`] : []
  } catch (error) {
    if (error instanceof ToolError) return [error.message]
    throw error
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
  return size <= largestScope ? [] : [`@tenon/scope must install at most ${largestScope} bytes, got ${size}`]
}
