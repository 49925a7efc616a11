import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The tested versions of Node.js, by major version. The package registry has a package with the binary of each. */
const versions: Readonly<Record<string, string>> = { 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }

/** The tested major versions. */
export const testedNodes: readonly string[] = Object.keys(versions)

const cache = join(import.meta.dirname, '../../../node_modules/.cache/tenon')

/**
 * Returns the path of a Node.js with a major version such as `'22'`: the running one if it matches, otherwise one from the
 * package registry, which is installed below `node_modules/.cache` at first use.
 *
 * @throws {Error} if Tenon is not tested on the version, or if it cannot be installed.
 */
export function findNode(major: string): string {
  const version = versions[major]
  if (!version) throw new Error(`Node ${major} is not tested. The tested versions are ${testedNodes.join(', ')}.`)
  if (process.versions.node.split('.')[0] === major) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const directory = join(cache, `node-${version}`)
  const binary = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  const path = join(directory, 'node_modules', name, binary)
  if (!existsSync(path)) install(`${name}@${version}`, directory)
  return path
}

/** Installs a package into a temporary directory and renames it at the end, because other processes may install it too. */
function install(specifier: string, directory: string): void {
  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, 'install-'))
  try {
    const args = [
      'install',
      '--prefix',
      temporary,
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      specifier,
    ]
    const result = spawnSync('npm', args, {
      encoding: 'utf8',
      shell: process.platform === 'win32',
      // npm does not understand the settings that pnpm passes to its scripts.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^p?npm_/i.test(name))),
    })
    if (result.status !== 0) {
      const reason = result.error?.message ?? result.stderr
      throw new Error(`${specifier} could not be installed. Run this with a Node.js of that version.\n${reason}`)
    }
    if (!existsSync(directory)) renameSync(temporary, directory)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/**
 * Returns the Node.js for a run of the tests: the major version in `TENON_NODE`, or the running one.
 *
 * @throws as {@link findNode}
 */
export function chosenNode(env: NodeJS.ProcessEnv = process.env): string {
  return env['TENON_NODE'] ? findNode(env['TENON_NODE']) : process.execPath
}
