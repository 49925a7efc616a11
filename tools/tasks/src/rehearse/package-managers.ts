import { installPackages } from '@tenon/config/install-package'

/** The versions of the programs of the rehearsal. They are not dependencies of the root, whose installation stays small. */
const programs = { '@yarnpkg/cli-dist': '4.18.1', npm: '11.21.2', pnpm: '12.21.0', verdaccio: '6.10.4' }

/**
 * Installs the package managers and the registry at first use, and returns the directory of their packages. Its `.bin` has the commands.
 *
 * @throws {Error} with the message of npm
 */
export const installPrograms = (): string =>
  // A dependency of verdaccio asks for a version of node-fetch that the registry does not have.
  installPackages(`rehearsal-${Object.values(programs).join('-')}`, programs, { 'node-fetch': '2.7.0' })

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

const yarn = (name: string, linker: string): PackageManager => ({
  name,
  files: (registry) => ({
    '.yarnrc.yml': `nodeLinker: ${linker}
npmRegistryServer: "${registry}"
unsafeHttpWhitelist: ["localhost"]
npmMinimalAgeGate: 0
enableTelemetry: false
enableImmutableInstalls: false
`,
    'yarn.lock': '',
  }),
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
