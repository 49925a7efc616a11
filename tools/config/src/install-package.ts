import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const cache = join(import.meta.dirname, '../../../node_modules/.cache/tenon')

/** The `node_modules` of {@link installPackages}, which need not exist. */
export const cachedPackages = (name: string): string => join(cache, name, 'node_modules')

/**
 * Installs packages of the registry below `node_modules/.cache` at first use, and returns their `node_modules`. Their scripts are not run.
 *
 * @param name of the directory
 * @param dependencies the version of each package
 * @param overrides the versions of packages on which they depend
 * @throws {Error} with the message of npm
 */
export function installPackages(
  name: string,
  dependencies: Readonly<Record<string, string>>,
  overrides: Readonly<Record<string, string>> = {},
): string {
  const directory = join(cache, name)
  if (!existsSync(directory)) install(directory, { private: true, dependencies, overrides })
  return cachedPackages(name)
}

/** Installs into a temporary directory and renames it at the end, because other processes may install it too. */
function install(
  directory: string,
  manifest: { readonly private: true; readonly dependencies: object; readonly overrides: object },
): void {
  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, 'install-'))
  try {
    writeFileSync(join(temporary, 'package.json'), JSON.stringify(manifest))
    const result = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], {
      cwd: temporary,
      encoding: 'utf8',
      shell: process.platform === 'win32',
      // npm does not understand the settings that pnpm passes to its scripts.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^p?npm_/i.test(name))),
    })
    if (result.status !== 0) {
      const names = Object.keys(manifest.dependencies).join(', ')
      throw new Error(`${names} could not be installed.\n${result.error?.message ?? result.stderr}`)
    }
    if (!existsSync(directory)) renameSync(temporary, directory)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
