import { join } from 'node:path'

import { installPackages } from './install-package.ts'

/** The tested versions of Node.js, by major version. The package registry has a package with the binary of each. */
const versions: Readonly<Record<string, string>> = { 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }

/** The tested major versions. */
export const testedNodes: readonly string[] = Object.keys(versions)

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
  const packages = installPackages(`node-${version}`, { [name]: version })
  return join(packages, name, process.platform === 'win32' ? 'bin/node.exe' : 'bin/node')
}

/**
 * Returns the Node.js for a run of the tests: the major version in `TENON_NODE`, or the running one.
 *
 * @throws as {@link findNode}
 */
export function chosenNode(env: NodeJS.ProcessEnv = process.env): string {
  return env['TENON_NODE'] ? findNode(env['TENON_NODE']) : process.execPath
}
