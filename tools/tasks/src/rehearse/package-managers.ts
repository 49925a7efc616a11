import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { runCommand, ToolError } from '@tenon/build'

import { root } from '../lib/root.ts'

/** The versions of the programs of the rehearsal. They are not dependencies of the root, whose installation stays small. */
const dependencies = { '@yarnpkg/cli-dist': '4.18.1', npm: '11.21.2', pnpm: '12.21.0', verdaccio: '6.10.4' }

const manifest = {
  private: true,
  dependencies,
  // A dependency of verdaccio asks for a version of node-fetch that the registry does not have.
  overrides: { 'node-fetch': '2.7.0' },
}

/**
 * Installs the package managers and the registry below `node_modules/.cache` at first use, and returns the directory of their
 * packages. Its `.bin` has the commands.
 *
 * @throws {ToolError} with the message of npm
 */
export async function installPackageManagers(): Promise<string> {
  const cache = join(root, 'node_modules/.cache/tenon')
  const name = `rehearsal-${Object.values(dependencies).join('-')}`
  const directory = join(cache, name)
  const packages = join(directory, 'node_modules')
  if (existsSync(packages)) return packages
  mkdirSync(cache, { recursive: true })
  const temporary = mkdtempSync(join(cache, 'install-'))
  try {
    writeFileSync(join(temporary, 'package.json'), JSON.stringify(manifest))
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts']
    const result = await runCommand('npm', args, { cwd: temporary, env: withoutNpm(process.env) })
    if (result.code !== 0) throw new ToolError(`the package managers could not be installed:\n${result.stderr}`)
    if (!existsSync(directory)) renameSync(temporary, directory)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
  return packages
}

/** The environment without what the package manager that runs this program has set. */
export const withoutNpm = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(?:p?npm_|yarn_|tenon_|node_options$|node_path$)/i.test(name)),
  )

/** A package manager as users run it in an empty folder. */
export interface PackageManager {
  readonly name: string
  /** Files that are in the folder before the first command. */
  readonly files: (registry: string) => Readonly<Record<string, string>>
  /** The command that adds packages to the project, as the documentation has it. */
  readonly add: (packages: readonly string[]) => readonly string[]
  /** The command that runs a script. */
  readonly run: (script: string) => readonly string[]
}

const yarnConfiguration = (registry: string, linker: string): string => `nodeLinker: ${linker}
npmRegistryServer: "${registry}"
unsafeHttpWhitelist: ["localhost"]
npmMinimalAgeGate: 0
enableTelemetry: false
enableImmutableInstalls: false
`

const yarn = (name: string, linker: string): PackageManager => ({
  name,
  files: (registry) => ({ '.yarnrc.yml': yarnConfiguration(registry, linker), 'yarn.lock': '' }),
  add: (packages) => ['yarn', 'add', ...packages],
  run: (script) => ['yarn', 'node', script],
})

/** The package with an install script that gRPC brings, which pnpm otherwise refuses to run or to leave out. */
const allowedBuilds = (packages: readonly string[]): string[] =>
  packages.includes('@tenon/serve') ? ['--allow-build=protobufjs'] : []

export const packageManagers: readonly PackageManager[] = [
  {
    name: 'npm',
    files: () => ({}),
    add: (packages) => ['npm', 'install', ...packages],
    run: (script) => ['node', script],
  },
  {
    name: 'pnpm',
    // The packages were published seconds ago.
    files: () => ({ 'pnpm-workspace.yaml': 'minimumReleaseAge: 0\n' }),
    add: (packages) => ['pnpm', 'add', ...packages, ...allowedBuilds(packages)],
    run: (script) => ['node', script],
  },
  yarn('Yarn', 'pnp'),
  yarn('Yarn with node_modules', 'node-modules'),
]
