import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The Node versions that everything is tested on, by major: packages of the registry hold each as a plain binary. */
const versions: Readonly<Record<string, string>> = { 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }

const cache = join(import.meta.dirname, '../../../node_modules/.cache/tenon')

/**
 * The path of a Node of this major (`'22'`): the one that runs if it is such a one, else one from the package registry,
 * installed below `node_modules/.cache` the first time.
 *
 * @throws {Error} if the major is not one that Tenon is tested on, or can't be installed, saying which are and why not.
 */
export function findNode(major: string): string {
  const version = versions[major]
  if (!version) throw new Error(`Node ${major} is not tested: it is one of ${Object.keys(versions).join(', ')}`)
  if (process.versions.node.split('.')[0] === major) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const directory = join(cache, `node-${version}`)
  const binary = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  const path = join(directory, 'node_modules', name, binary)
  if (!existsSync(path)) install(`${name}@${version}`, directory)
  return path
}

/** Installs a package into a directory of its own, which appears when it is complete: others may install it as well. */
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
      // Settings that pnpm hands to its scripts are not npm's.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^p?npm_/i.test(name))),
    })
    if (result.status !== 0) {
      const reason = result.error?.message ?? result.stderr
      throw new Error(`${specifier} could not be installed. Run this with a Node of that version instead.\n${reason}`)
    }
    if (!existsSync(directory)) renameSync(temporary, directory)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/**
 * The Node for a run of the tests: the major that `TENON_NODE` names, or the one that runs.
 *
 * @throws {Error} as `findNode` does.
 */
export function chosenNode(env: NodeJS.ProcessEnv = process.env): string {
  return env['TENON_NODE'] ? findNode(env['TENON_NODE']) : process.execPath
}
