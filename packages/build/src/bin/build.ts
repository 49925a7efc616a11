#!/usr/bin/env node
import { basename, relative } from 'node:path'
import { parseArgs } from 'node:util'

import { type Artifact, buildPackage } from '../build.ts'
import { findReleaseProblems } from '../checks/release.ts'
import { checkTopics } from '../checks/topics.ts'
import { parseVariant } from '../flags.ts'
import { generateFiles } from '../generated-files.ts'
import { type LoadedPackage, loadPackage } from '../load-package.ts'
import { emptyPlatformPackage, fillPlatformPackage } from '../publish/platform-package.ts'
import { findPlatform, hostPlatform, type Platform, platforms } from '../platform.ts'
import { isShipped, type NativeTarget, type Variant } from '../targets.ts'
import { ToolError, runMain } from '../tool-error.ts'

const usage = `tenon-build: builds the native targets of the package in the current directory

  --variant NAME  release (default), debug, fast-math, asan, tsan, or, with fuzz programs, fuzz or libfuzzer;
                  TENON_VARIANT replaces the default
  --target NAME   build with zig for a platform, or for all; the code runs on its oldest supported version:
                  ${platforms
                    .map(({ name }) => name)
                    .join(', ')
                    .replace(', darwin', ',\n                  darwin')}
  --all           build tests and fuzz programs too, not only libraries and addons
  --check         like --all, but fail if a generated file is stale instead of writing it
  --package       copy the release libraries and addons into the platform's package, with SHA256SUMS.json;
                  with --target, only if each of them can be published
`

await runMain(async () => {
  const options = readOptions()
  if (options.help) {
    process.stdout.write(usage)
    return
  }
  if (options.package && options.variant && options.variant !== 'release') {
    throw new ToolError('--package requires the release variant. Omit --variant.')
  }
  const variant = options.package ? 'release' : parseVariant(options.variant ?? process.env['TENON_VARIANT'])
  const pkg = await loadPackage(process.cwd())
  await generateFiles(pkg, { write: !options.check })
  if (pkg.native.topics !== undefined) checkTopics(pkg.directory, pkg.native.topics)
  for (const platform of platformsOf(options.target)) {
    const kinds = kindsToBuild(variant, platform, Boolean(options.all || options.check))
    const portable = options.target !== undefined
    const artifacts = await buildPackage(pkg, { variant, platform, kinds, portable })
    printArtifacts(pkg, artifacts)
    const problems = portable && variant === 'release' ? findProblems(pkg, platform, artifacts) : []
    for (const problem of problems) process.stdout.write(`  ${problem}\n`)
    if (options.package) {
      if (problems.length > 0) {
        emptyPlatformPackage(pkg, platform)
        throw new ToolError(`the package for ${platform.name} was not filled:\n  ${problems.join('\n  ')}`)
      }
      const filled = fillPlatformPackage(pkg, artifacts, platform)
      process.stdout.write(`${relative(pkg.directory, filled)}\n`)
    }
  }
})

function platformsOf(target: string | undefined): readonly Platform[] {
  if (target === undefined) return [hostPlatform]
  return target === 'all' ? platforms : [findPlatform(target)]
}

function printArtifacts({ directory }: LoadedPackage, artifacts: readonly Artifact[]): void {
  for (const { path, rebuilt } of artifacts)
    process.stdout.write(`${relative(directory, path)}${rebuilt ? '' : ' (up to date)'}\n`)
}

/** Finds what keeps files from being published. A developer may use them nevertheless. */
function findProblems(pkg: LoadedPackage, platform: Platform, artifacts: readonly Artifact[]): string[] {
  const shipped = artifacts.filter(({ target }) => isShipped(target) && !target.fixture)
  const files = shipped.map(({ path }) => basename(path))
  return shipped.flatMap(({ path }) =>
    findReleaseProblems(path, { platform, files, builtIn: pkg.directory }).map(
      (problem) => `${basename(path)} cannot be published: ${problem}`,
    ),
  )
}

/** Fuzz variants build fuzz programs only, because their code needs the fuzz driver. */
function kindsToBuild(variant: Variant, { os }: Platform, all: boolean): NativeTarget['kind'][] {
  if (variant === 'fuzz' || variant === 'libfuzzer') return ['shared', 'fuzz']
  if (!all) return ['shared', 'addon', 'executable']
  // The fuzz driver forks, which Windows cannot.
  return ['shared', 'addon', 'executable', 'test', ...(os === 'win32' ? [] : ['fuzz' as const])]
}

function readOptions(): {
  variant?: string
  target?: string
  all?: boolean
  check?: boolean
  package?: boolean
  help?: boolean
} {
  try {
    return parseArgs({
      options: {
        variant: { type: 'string' },
        target: { type: 'string' },
        all: { type: 'boolean' },
        check: { type: 'boolean' },
        package: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    throw new ToolError(`${(error as Error).message}\n\n${usage}`)
  }
}
