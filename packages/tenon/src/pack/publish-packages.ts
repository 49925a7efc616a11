import { spawnSync, type SpawnSyncOptions } from 'node:child_process'
import { createHash } from 'node:crypto'
import { InputError } from '../cli/input-error.ts'
import type { Tarball } from './read-packages.ts'

/** Where and how packages are published. */
export interface PublishOptions {
  /** The URL of the registry. By default that of npm's configuration. */
  readonly registry?: string | undefined
  /** The tag under which users find the version. By default `latest`. */
  readonly tag?: string | undefined
  /** Who may install a package whose name has a scope. */
  readonly access?: 'public' | 'restricted' | undefined
}

/**
 * Publishes packages with npm, in their order, and passes what npm asks and prints on to the terminal. A package that the registry
 * has already, with the same contents, is skipped, so that a run that was interrupted can be repeated.
 *
 * @param tell is called before each package
 * @throws {InputError} if npm is not installed or fails, or the registry has other contents under the version
 */
export function publishPackages(
  tarballs: readonly Tarball[],
  { registry, tag, access }: PublishOptions,
  tell: (line: string) => void,
): void {
  const flags = Object.entries({ registry, tag, access }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}=${value}`],
  )
  // All are looked up first, so that nothing is published if a version is taken.
  const unpublished = tarballs.filter((tarball) => {
    const taken = isPublished(tarball, registry)
    if (taken) tell(`${tarball.name}@${tarball.version} is published already`)
    return !taken
  })
  for (const { name, version, path } of unpublished) {
    tell(`publishing ${name}@${version}`)
    const { status } = npm(['publish', path, ...flags], { stdio: 'inherit' })
    if (status !== 0) {
      throw new InputError(
        `npm could not publish ${name}@${version}`,
        'Mend what npm printed and run tenon publish again, which skips what is published.',
      )
    }
  }
}

function isPublished({ name, version, bytes }: Tarball, registry: string | undefined): boolean {
  const flags = registry === undefined ? [] : [`--registry=${registry}`]
  const { status, stdout } = npm(['view', `${name}@${version}`, 'dist.integrity', '--json', ...flags], {
    stdio: ['inherit', 'pipe', 'pipe'],
    encoding: 'utf8',
  })
  const text = String(stdout).trim()
  if (status !== 0) {
    const { code = '', summary = text } = errorIn(text)
    if (code === 'E404') return false
    throw new InputError(`npm could not ask the registry for ${name}: ${summary.trim() || `exit code ${status}`}`)
  }
  // Without the version, npm prints nothing.
  if (text === '') return false
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  if (text === JSON.stringify(integrity)) return true
  throw new InputError(
    `the registry has ${name}@${version} with other contents`,
    'Raise the version in package.json, and run tenon pack again.',
  )
}

/** The error in the output of `npm --json`. */
function errorIn(text: string): { readonly code?: string; readonly summary?: string } {
  try {
    return (JSON.parse(text) as { readonly error?: object }).error ?? {}
  } catch {
    return {}
  }
}

function npm(args: readonly string[], options: SpawnSyncOptions): { status: number | null; stdout: unknown } {
  // npm is a script on Windows, which only a shell runs.
  const windows = process.platform === 'win32'
  const quoted = windows ? args.map((one) => `"${one.replaceAll('"', '')}"`) : args
  const result = spawnSync('npm', quoted, { ...options, shell: windows })
  if (result.error === undefined) return result
  throw new InputError(`npm could not be run: ${result.error.message}`, 'Install npm, which publishes the packages.')
}
