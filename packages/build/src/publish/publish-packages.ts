import { spawnSync, type SpawnSyncOptions } from 'node:child_process'

import { ToolError } from '../tool-error.ts'

/** Where and how packages are published. */
export interface PublishOptions {
  /** The URL of the registry. By default that of npm's configuration. */
  readonly registry?: string | undefined
  /** The tag under which users find a version. By default `latest`, and `next` for versions before a release, such as 1.0.0-beta.1. */
  readonly tag?: string | undefined
  /** The users that may install a package whose name has a scope. */
  readonly access?: 'public' | 'restricted' | undefined
  /** Whether npm records the workflow that published the packages. The default is the setting of each manifest. */
  readonly provenance?: boolean | undefined
  /** The descriptor to which npm prints its results: stdout, or stderr. By default 1, stdout. */
  readonly output?: 1 | 2
  /** The environment of npm. By default that of the process. */
  readonly env?: NodeJS.ProcessEnv
}

/** The description of a package by `npm pack --json`. */
interface Packed {
  readonly name: string
  readonly version: string
  readonly integrity: string
}

/**
 * Publishes packages with npm, in their order, and passes what npm asks and prints on to the terminal. A version that the registry has
 * with the same contents is skipped, so that a run that was interrupted can be repeated.
 *
 * @param paths the absolute paths of tarballs or folders
 * @param tell is called before each package
 * @returns the versions that are new, as NAME@VERSION
 * @throws {ToolError} if npm is not installed or fails, or, before anything is published, if the registry has other contents under a version
 */
export function publishPackages(
  paths: readonly string[],
  options: PublishOptions,
  tell: (line: string) => void,
): string[] {
  const { registry, tag, access, provenance, output = 1, env } = options
  const { status, stdout } = npm(['pack', '--dry-run', '--json', ...paths], env, quiet)
  if (status !== 0) throw new ToolError(`npm could not read the packages: ${errorIn(stdout).summary ?? stdout}`)
  const packed = JSON.parse(stdout) as Packed[]
  const isNew = packed.map((pkg) => {
    const known = isPublished(pkg, options)
    if (known) tell(`${pkg.name}@${pkg.version} is published already`)
    return !known
  })
  return packed
    .filter((_, i) => isNew[i])
    .map((pkg) => {
      const version = `${pkg.name}@${pkg.version}`
      const values = { registry, tag: tag ?? (pkg.version.includes('-') ? 'next' : undefined), access, provenance }
      const flags = Object.entries(values).flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}=${value}`],
      )
      tell(`publishing ${version}`)
      const stdio: SpawnSyncOptions['stdio'] = ['inherit', output, 'inherit']
      if (npm(['publish', paths[packed.indexOf(pkg)]!, ...flags], env, { stdio }).status === 0) return version
      throw new ToolError(
        `npm could not publish ${version}\nRun this again once what npm printed is mended: it skips what is published.`,
      )
    })
}

function isPublished({ name, version, integrity }: Packed, { registry, env }: PublishOptions): boolean {
  const known = publishedIntegrity(`${name}@${version}`, registry, env)
  if (known === undefined || known === integrity) return known !== undefined
  throw new ToolError(
    `the registry has ${name}@${version} with other contents: ${known}, not ${integrity}\nChoose another version, and pack again.`,
  )
}

/**
 * Returns the digest by which a registry identifies a version, or undefined if it does not have it.
 *
 * @param spec NAME@VERSION, or a name for its latest version
 * @throws {ToolError} if the registry cannot be asked
 */
export function publishedIntegrity(spec: string, registry?: string, env?: NodeJS.ProcessEnv): string | undefined {
  const flags = registry === undefined ? [] : [`--registry=${registry}`]
  const { status, stdout } = npm(['view', spec, 'dist.integrity', '--json', ...flags], env, quiet)
  const text = stdout.trim()
  // Without the version, npm prints nothing.
  if (status === 0) return text === '' ? undefined : String(JSON.parse(text))
  const { code, summary = text } = errorIn(text)
  if (code === 'E404') return undefined
  throw new ToolError(`npm could not ask the registry for ${spec}: ${summary.trim() || `exit code ${status}`}`)
}

/** The error in the output of `npm --json`. */
function errorIn(text: string): { readonly code?: string; readonly summary?: string } {
  try {
    return (JSON.parse(text) as { readonly error?: object }).error ?? {}
  } catch {
    return {}
  }
}

/** Leaves the terminal to npm's questions. */
const quiet: SpawnSyncOptions = { stdio: ['inherit', 'pipe', 'pipe'] }

/** Runs npm. @throws {ToolError} if it is not installed */
export function npm(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  options: SpawnSyncOptions = {},
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  // npm is a script on Windows, which only a shell runs.
  const windows = process.platform === 'win32'
  const quoted = windows ? args.map((one) => `"${one.replaceAll('"', '')}"`) : args
  const { error, status, stdout, stderr } = spawnSync('npm', quoted, {
    ...options,
    env,
    shell: windows,
    maxBuffer: 1 << 26,
  })
  if (error !== undefined)
    throw new ToolError(`npm could not be run: ${error.message}\nInstall npm, which publishes the packages.`)
  return { status, stdout: String(stdout ?? ''), stderr: String(stderr ?? '') }
}
