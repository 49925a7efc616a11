import { spawnSync } from 'node:child_process'

/** Installs packages of Debian. @throws {Error} if apt-get fails */
export function installDebian(packages: readonly string[]): void {
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', ...new Set(packages)],
  ]) {
    const { status } = spawnSync('apt-get', args, {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed`)
  }
}

/** The commands and packages that this machine does not have. */
export const missingDebian = (commands: readonly string[], packages: readonly string[]): string[] => [
  ...commands.filter((name) => spawnSync(name, ['--version']).status !== 0),
  ...packages.filter((name) => spawnSync('dpkg', ['-s', name]).status !== 0),
]
