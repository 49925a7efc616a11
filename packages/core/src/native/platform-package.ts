import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { hostPlatformName } from '@tenon/binary'

/** The package with the libraries for one platform. */
export interface PlatformPackage {
  readonly name: string
  readonly directory: string
}

/**
 * Finds the installed package of the platform of this process.
 *
 * Package managers install only the one for the C library of the system. To ask Node.js for that library takes 2 ms, as its resolver
 * does, so both are asked only if they are needed.
 *
 * @param core the directory of `@tenon/core`
 */
export function findPlatformPackage(core: string): PlatformPackage | undefined {
  const [only, other] = packageNames().flatMap((name) => inNodeModules(core, name))
  if (only !== undefined && other === undefined) return only
  const name = `@tenon/core-${hostPlatformName()}`
  const installed = [only, other].find((one) => one?.name === name)
  return installed ?? resolved(name)
}

function packageNames(): string[] {
  const name = `@tenon/core-${process.platform}-${process.arch}`
  return process.platform === 'linux' ? [`${name}-gnu`, `${name}-musl`] : [name]
}

/** Looks where package managers put a dependency, in the order of Node.js. */
function inNodeModules(core: string, name: string): PlatformPackage[] {
  const places = [join(core, 'node_modules', name), join(dirname(dirname(core)), name)]
  const directory = places.find((place) => existsSync(join(place, 'package.json')))
  return directory === undefined ? [] : [{ name, directory }]
}

/** Asks the resolver of Node.js, which also knows Plug'n'Play. */
function resolved(name: string): PlatformPackage | undefined {
  try {
    return { name, directory: dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)) }
  } catch {
    return undefined
  }
}
