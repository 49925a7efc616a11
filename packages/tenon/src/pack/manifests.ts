import type { Manifest, Platform } from '@tenon/build/internal'
import type { BuildTool } from '../cli/build-tool.ts'
import { InputError } from '../cli/input-error.ts'
import { packageManifest } from '../version.ts'

/** What the manifests of the packages of a project are made from. */
export interface ManifestSource {
  readonly tool: BuildTool
  readonly name: string
  readonly version: string
  /** The package.json of the project. */
  readonly project: Manifest
  /** The platforms for which there are packages. */
  readonly platforms: readonly Platform[]
}

/** The fields that describe the project, which all its packages have. */
const shared = [
  'license',
  'author',
  'contributors',
  'funding',
  'homepage',
  'bugs',
  'repository',
  'publishConfig',
] as const

/** npm refuses longer names. */
const MAX_NAME_LENGTH = 214

/** The name of the package with the libraries for a platform. */
export const platformPackageName = (name: string, platform: string): string => `${name}-${platform}`

/**
 * The manifest of the main package. It depends on `tenon` and, optionally, on every platform package in the same version. Nothing
 * runs when it is installed.
 */
export function mainManifest({ tool, name, version, project, platforms }: ManifestSource): Manifest {
  return {
    name,
    version,
    ...pick(project, ['description', 'keywords', ...shared]),
    type: 'module',
    exports: {
      '.': { types: './index.d.ts', default: './index.js' },
      './package.json': './package.json',
    },
    dependencies: { tenon: tenonRange(tool, project) },
    ...(platforms.length > 0 && {
      optionalDependencies: Object.fromEntries(
        platforms.map((platform) => [platformPackageName(name, platform.name), version]),
      ),
    }),
    engines: { node: packageManifest().engines.node },
  }
}

/**
 * The manifest of a platform package. It has no engines, because package managers silently leave out an optional dependency whose
 * engines do not fit, and no dependencies. `preferUnplugged` keeps Yarn from leaving the libraries in an archive, which the
 * system cannot load.
 */
export function platformManifest({ tool, name, version, project }: ManifestSource, platform: Platform): Manifest {
  const own = platformPackageName(name, platform.name)
  if (own.length > MAX_NAME_LENGTH) {
    throw new InputError(
      `the name of a package must have at most ${MAX_NAME_LENGTH} characters, got ${own.length}: ${own}`,
      'Choose a shorter name in package.json or tenon.config.ts.',
    )
  }
  return {
    name: own,
    version,
    description: `The libraries of ${name} for ${platform.name}.`,
    ...pick(project, shared),
    ...tool.platformFields(platform),
    exports: { './package.json': './package.json', './lib/*': './lib/*' },
    preferUnplugged: true,
  }
}

const pick = (source: Manifest, fields: readonly string[]): Manifest =>
  Object.fromEntries(fields.flatMap((field) => (source[field] === undefined ? [] : [[field, source[field]]])))

/**
 * The range of versions of `tenon` that the project states, or the version of this command and compatible ones. Paths and links to
 * a checkout are not ranges.
 */
function tenonRange(tool: BuildTool, project: Manifest): string {
  const stated = ['dependencies', 'peerDependencies', 'devDependencies']
    .map((field) => (project[field] as Readonly<Record<string, unknown>> | undefined)?.['tenon'])
    .find((range) => range !== undefined)
  return tool.isRange(stated) ? stated : `^${packageManifest().version}`
}
