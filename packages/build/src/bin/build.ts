#!/usr/bin/env node
import { relative } from 'node:path'
import { parseArgs } from 'node:util'

import { buildPackage } from '../build.ts'
import { generateFiles } from '../generated-files.ts'
import { ToolError, runMain } from '../tool-error.ts'
import { loadPackage } from '../load-package.ts'
import { fillPlatformPackage } from '../platform-package.ts'
import { hostPlatform } from '../platform.ts'
import type { NativeTarget, Variant } from '../targets.ts'
import { parseVariant } from '../flags.ts'

const usage = `tenon-build: builds the native targets of the package in the current directory

  --variant NAME  release (default), debug, fast-math, asan, tsan, or, with fuzz programs, fuzz or libfuzzer;
                  TENON_VARIANT replaces the default
  --all           build tests and fuzz programs too, not only libraries and addons
  --check         like --all, but fail if a generated file is stale instead of writing it
  --package       copy the release libraries and addons into this platform's package, with SHA256SUMS.json
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
  generateFiles(pkg, { write: !options.check })
  const artifacts = await buildPackage(pkg, {
    variant,
    kinds: kindsToBuild(variant, Boolean(options.all || options.check)),
  })
  for (const { path, rebuilt } of artifacts) {
    process.stdout.write(`${relative(pkg.directory, path)}${rebuilt ? '' : ' (up to date)'}\n`)
  }
  if (options.package) process.stdout.write(`${relative(pkg.directory, fillPlatformPackage(pkg, artifacts))}\n`)
})

/** Fuzz variants build fuzz programs only, because their code needs the fuzz driver. */
function kindsToBuild(variant: Variant, all: boolean): NativeTarget['kind'][] {
  if (variant === 'fuzz' || variant === 'libfuzzer') return ['shared', 'fuzz']
  if (!all) return ['shared', 'addon', 'executable']
  // The fuzz driver forks, which Windows cannot.
  return hostPlatform.os === 'win32'
    ? ['shared', 'addon', 'executable', 'test']
    : ['shared', 'addon', 'executable', 'test', 'fuzz']
}

function readOptions(): { variant?: string; all?: boolean; check?: boolean; package?: boolean; help?: boolean } {
  try {
    return parseArgs({
      options: {
        variant: { type: 'string' },
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
