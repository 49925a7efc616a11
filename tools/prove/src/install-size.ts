import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { artifactName, hostPlatform, loadPackage } from '@tenon/build'
import { isShipped } from '@tenon/build/internal'

const root = join(import.meta.dirname, '../../..')

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** The size of an installed package, with its dependencies. */
export interface InstallSize {
  readonly packages: number
  readonly bytes: number
}

const manifestIn = (directory: string): Manifest =>
  JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest

const dependenciesOf = ({ dependencies, optionalDependencies }: Manifest): string[] =>
  Object.keys({ ...dependencies, ...optionalDependencies })

/**
 * Returns the size of a package that is installed, and of all that it depends on, for this platform.
 *
 * @param folder in whose `node_modules` the package is
 */
export function installedSize(name: string, folder: string): InstallSize {
  return sizeOf(name, folder, directorySize)
}

/**
 * Returns the size of the packages of this checkout as they are packed, and of all that they depend on. The package of this platform gets the
 * libraries that were built here, without their debug information.
 *
 * @throws {Error} if a package cannot be packed
 */
export async function packedSize(name: string): Promise<InstallSize> {
  const libraries = await librariesSize()
  const workspace = new Map(
    globSync('packages/{*,core/npm/*}/package.json', { cwd: root }).map((file) => {
      const directory = join(root, dirname(file))
      return [manifestIn(directory).name, directory]
    }),
  )
  const here = `@tenon/core-${hostPlatform.name}`
  return sizeOf(
    name,
    root,
    (directory, { name: packed }) => {
      if (packed === here) return libraries
      if (packed.startsWith('@tenon/core-')) return undefined
      return workspace.has(packed) ? packSize(directory) : directorySize(directory)
    },
    workspace,
  )
}

/** The bytes of the libraries that the package of this platform has. */
async function librariesSize(): Promise<number> {
  const { directory, native } = await loadPackage(join(root, 'packages/core'))
  return native.targets
    .filter((target) => isShipped(target) && !('fixture' in target && target.fixture))
    .map((target) => statSync(join(directory, 'build/release', artifactName(target, hostPlatform))).size)
    .reduce((sum, bytes) => sum + bytes, 0)
}

function packSize(directory: string): number {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const stdio = ['ignore', 'pipe', 'ignore'] as const
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^p?npm_/i.test(name)))
  const packed = execFileSync('npm', args, { cwd: directory, stdio: [...stdio], encoding: 'utf8', env })
  return (JSON.parse(packed) as { unpackedSize: number }[])[0]!.unpackedSize
}

function sizeOf(
  name: string,
  folder: string,
  measure: (directory: string, manifest: Manifest) => number | undefined,
  workspace: ReadonlyMap<string, string> = new Map(),
): InstallSize {
  const seen = new Map<string, number>()
  const visit = (dependency: string, from: string): void => {
    const directory = workspace.get(dependency) ?? findPackage(dependency, from)
    // The packages of other platforms are not installed.
    if (directory === undefined || seen.has(directory)) return
    const manifest = manifestIn(directory)
    const bytes = measure(directory, manifest)
    if (bytes === undefined) return
    seen.set(directory, bytes)
    for (const next of dependenciesOf(manifest)) visit(next, directory)
  }
  visit(name, folder)
  if (seen.size === 0) throw new Error(`${name} is not installed`)
  return { packages: seen.size, bytes: [...seen.values()].reduce((sum, bytes) => sum + bytes, 0) }
}

/** The directory of a package, as Node.js finds it from another one. */
function findPackage(name: string, from: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    const found = join(directory, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return realpathSync(found)
    if (directory === dirname(directory)) return undefined
  }
}

function directorySize(directory: string): number {
  return readdirSync(directory, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .reduce((sum, entry) => {
      const path = join(directory, entry.name)
      return sum + (entry.isDirectory() ? directorySize(path) : statSync(path).size)
    }, 0)
}
