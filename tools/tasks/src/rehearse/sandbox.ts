import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

import { type CommandResult, runCommand, ToolError } from '@tenon/build'

import { withoutNpm } from './package-managers.ts'
import type { Registry } from './registry.ts'

/** A user's account on a machine with one version of Node.js: an empty home without caches, and a folder to work in. */
export interface Sandbox {
  readonly directory: string
  /** The environment of its commands. */
  readonly env: NodeJS.ProcessEnv
  /** Runs a command in the folder, or in one below. @throws {ToolError} with its output if it fails */
  run(command: readonly string[], folder?: string): Promise<CommandResult>
  write(files: Readonly<Record<string, string>>, folder?: string): void
}

/** @param packages the directory in which the package managers are installed @param node the path of Node.js */
export function makeSandbox(parent: string, packages: string, node: string, registry: Registry): Sandbox {
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
    PATH: [dirname(node), join(packages, '.bin'), process.env['PATH']].join(delimiter),
    // A package manager that looks for the repository of the project must not find this one.
    GIT_CEILING_DIRECTORIES: parent,
  }
  return {
    directory,
    env,
    async run(command, folder = '') {
      const [file, ...args] = command
      const result = await runCommand(file!, args, { cwd: join(directory, folder), env })
      if (result.code === 0) return result
      throw new ToolError(
        `${command.join(' ')} ended with ${result.code ?? result.signal}:\n${result.stdout}${result.stderr}`,
      )
    },
    write(files, folder = '') {
      mkdirSync(join(directory, folder), { recursive: true })
      for (const [path, text] of Object.entries(files)) {
        const file = join(directory, folder, path)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text)
      }
    },
  }
}
