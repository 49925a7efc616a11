import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

import { type CommandResult, publishPackages, runCommand, ToolError } from '@tenon/build/internal'

import { withoutNpm } from '../lib/run-tool.ts'
import { packRelease } from '../release/pack-release.ts'
import { readReleasePackages } from '../release/release-packages.ts'
import { installPrograms } from './package-managers.ts'
import { type Registry, startRegistry } from './registry.ts'

/** A user's account on a machine with one version of Node.js: an empty home without caches, and a folder to work in. */
export interface Sandbox {
  readonly directory: string
  /** The environment of its commands. */
  readonly env: NodeJS.ProcessEnv
  /** Runs a command in the folder, or in one below. @throws {ToolError} with its output if it fails */
  run(command: readonly string[], folder?: string): Promise<CommandResult>
  write(files: Readonly<Record<string, string>>, folder?: string): void
}

/** What users have who install Tenon's packages from a registry on this machine. */
export interface Rehearsal {
  /** The URL of the registry. */
  readonly registry: string
  /**
   * Makes the account of another user.
   *
   * @param node the path of Node.js, by default that of this process
   * @param path the `PATH` of a user, by default one with this Node.js and the package managers
   */
  sandbox(node?: string, path?: string): Sandbox
}

/**
 * Publishes Tenon's packages to a registry on this machine, which ends with the rehearsal.
 *
 * @param folder that of the tarballs; without it, the packages are packed for this machine, for which they must be built
 * @param others the names of packages besides Tenon's that never come from npm's registry
 */
export async function rehearse(
  folder: string | undefined,
  body: (rehearsal: Rehearsal) => Promise<void>,
  others: readonly string[] = [],
): Promise<void> {
  const programs = installPrograms()
  const directory = mkdtempSync(join(tmpdir(), 'tenon-rehearsal-'))
  let registry: Registry | undefined
  try {
    const packages = folder ? await readReleasePackages([folder]) : await packRelease(join(directory, 'tarballs'), true)
    const own = [...packages.map(({ name }) => name), ...others]
    const started = (registry = await startRegistry(programs, join(directory, 'registry'), own))
    const sandbox: Rehearsal['sandbox'] = (node = process.execPath, path) =>
      makeSandbox(directory, path ?? pathOf(programs, node), started)
    const paths = packages.map(({ path }) => path)
    const env = { ...sandbox().env, npm_config_loglevel: 'error' }
    publishPackages(paths, { access: 'public', provenance: false, env }, () => undefined)
    await body({ registry: started.url, sandbox })
  } finally {
    await registry?.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** @param programs the directory in which the package managers are installed */
const pathOf = (programs: string, node: string): string =>
  [dirname(node), join(programs, '.bin'), process.env['PATH']].join(delimiter)

function makeSandbox(parent: string, path: string, registry: Registry): Sandbox {
  const home = mkdtempSync(join(parent, 'user-'))
  const directory = join(home, 'work')
  mkdirSync(directory)
  writeFileSync(join(home, '.npmrc'), registry.npmrc)
  const env: NodeJS.ProcessEnv = {
    ...withoutNpm(process.env),
    HOME: home,
    XDG_CACHE_HOME: undefined,
    XDG_DATA_HOME: undefined,
    npm_config_update_notifier: 'false',
    PATH: path,
    // A package manager that looks for the repository of the project must not find this one.
    GIT_CEILING_DIRECTORIES: parent,
  }
  return {
    directory,
    env,
    async run([file, ...args], folder = '') {
      const result = await runCommand(file!, args, { cwd: join(directory, folder), env })
      if (result.code === 0) return result
      const { code, signal, stdout, stderr } = result
      throw new ToolError(`${[file, ...args].join(' ')} ended with ${code ?? signal}:\n${stdout}${stderr}`)
    },
    write(files, folder = '') {
      for (const [name, text] of Object.entries(files)) {
        const file = join(directory, folder, name)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text)
      }
    },
  }
}
