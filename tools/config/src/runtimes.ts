import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { cachedPackages, installPackages } from './install-package.ts'

/** The runtimes beside Node.js in which Tenon is tested. */
export const testedRuntimes = ['bun', 'deno'] as const
export type TestedRuntime = (typeof testedRuntimes)[number]

/** The package of the registry with the binary of each, which has no other platforms here. */
const packages: Readonly<Record<TestedRuntime, { name: string; version: string; binary: string }>> = {
  bun: { name: '@oven/bun-linux-x64', version: '1.4.5', binary: 'bin/bun' },
  deno: { name: '@deno/linux-x64-glibc', version: '2.9.6', binary: 'deno' },
}

/** The tested version of a runtime. */
export const testedVersion = (runtime: TestedRuntime): string => packages[runtime].version

const cacheName = (runtime: TestedRuntime): string => `${runtime}-${packages[runtime].version}`

/**
 * Returns the path of a runtime: that in the variable `TENON_BUN` or `TENON_DENO`, or the one that {@link installRuntime} has installed.
 * Undefined without both, so that tests of a runtime are registered only where it is.
 */
export function findRuntime(runtime: TestedRuntime): string | undefined {
  const { name, binary } = packages[runtime]
  const path = process.env[`TENON_${runtime.toUpperCase()}`] || join(cachedPackages(cacheName(runtime)), name, binary)
  return existsSync(path) ? path : undefined
}

/** Installs a runtime below `node_modules/.cache` at first use, and returns its path. @throws {Error} if it cannot be installed. */
export function installRuntime(runtime: TestedRuntime): string {
  const found = findRuntime(runtime)
  if (found !== undefined) return found
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error(`${runtime} is tested only on Linux x64`)
  const { name, version, binary } = packages[runtime]
  return join(installPackages(cacheName(runtime), { [name]: version }), name, binary)
}

/** How a program has ended in a runtime. */
export interface RuntimeResult {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** The flags with which each runtime runs the text of a module and has `gc()`. */
const evalFlags: Readonly<Record<TestedRuntime | 'node', readonly string[]>> = {
  node: ['--expose-gc', '--input-type=module', '--eval'],
  bun: ['--expose-gc', '--eval'],
  deno: ['eval', '--v8-flags=--expose-gc'],
}

/** Runs the text of a module in a runtime. It resolves imports like a file in `cwd`, and is killed after five minutes. */
export function runInRuntime(
  runtime: TestedRuntime | 'node',
  path: string,
  source: string,
  cwd: string,
): Promise<RuntimeResult> {
  const args = [...evalFlags[runtime], source]
  // Colours would be in the messages of errors.
  const env = { ...process.env, NO_COLOR: '1' }
  return new Promise((resolve) => {
    const child = execFile(path, args, { cwd, env, timeout: 300_000, killSignal: 'SIGKILL' }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
    )
  })
}
