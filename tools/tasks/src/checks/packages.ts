import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'

import { hostPlatform, packageSuffix, runCommand } from '@tenon/build'

import { runNativeBuild } from '../lib/native.ts'
import { findPlatformProblems } from '../lib/platform-packages.ts'
import { capturePnpm, captureTool } from '../lib/run-tool.ts'
import { listPackages, type WorkspacePackage, withNativeTargets } from '../lib/workspace.ts'
import type { Check } from './check.ts'
import { checkDeclarations } from './declarations.ts'

const everywhere = ['package.json', 'README.md', 'LICENSE']

export function findMisplacedFiles(name: string, files: readonly string[], wanted: readonly string[]): string[] {
  const missing = wanted.filter((file) => !files.includes(file)).map((file) => `${name} is packed without ${file}`)
  const unwanted = files
    // A template of a package has a test, which the package is not tested with.
    .filter((file) => !file.startsWith('templates/'))
    .filter((file) => /(^|\/)(test|bench|reports|node_modules|\.turbo)\/|tsbuildinfo$/.test(file))
    .map((file) => `${name} is packed with ${file}`)
  return [...missing, ...unwanted]
}

export function findLostPlatform(name: string, manifest: { os?: unknown; cpu?: unknown }, platform: string): string[] {
  const [os, cpu] = platform.split('-')
  const kept = isDeepStrictEqual([manifest.os, manifest.cpu], [[os], [cpu]])
  return kept ? [] : [`${name} is packed without the os and cpu of ${platform}`]
}

/** Checks the tarballs: they contain all files, and resolve in ESM and in TypeScript. */
export const packagesCheck: Check = {
  name: 'packages',
  async run() {
    const built = await captureTool('turbo', ['run', 'build', 'build:native', '--output-logs=errors-only'])
    if (built.code !== 0) return { problems: [`the build failed\n${built.stdout}${built.stderr}`] }
    const packages = await listPackages()
    for (const { directory } of withNativeTargets(packages.filter((pkg) => !pkg.private))) {
      const filled = await runNativeBuild(directory, ['--package'])
      if (filled.code !== 0) return { problems: [filled.stderr] }
    }
    // The packages of other platforms contain libraries only where they were built.
    const here = packageSuffix(hostPlatform)
    const published = packages.filter((pkg) => !pkg.private && (pkg.platform ?? here) === here)
    const directory = mkdtempSync(join(tmpdir(), 'tenon-pack-'))
    try {
      const found = [...(await findPlatformProblems(published)), ...(await checkDeclarations(published))]
      for (const pkg of published) found.push(...(await checkPackage(pkg, directory)))
      return { problems: found, note: `${published.length} packages` }
    } finally {
      rmSync(directory, { recursive: true })
    }
  },
}

async function checkPackage(pkg: WorkspacePackage, directory: string): Promise<string[]> {
  const packed = await capturePnpm(['pack', '--json', '--pack-destination', directory], { cwd: pkg.directory })
  if (packed.code !== 0) return [`${pkg.name} cannot be packed\n${packed.stdout}${packed.stderr}`]
  const { filename, files } = JSON.parse(packed.stdout) as { filename: string; files: { path: string }[] }
  const entry = pkg.platform ? 'lib/SHA256SUMS.json' : 'dist/index.js'
  const problems = findMisplacedFiles(
    pkg.name,
    files.map(({ path }) => path),
    [...everywhere, entry],
  )

  const publint = await captureTool('publint', ['run', filename, '--strict'])
  if (publint.code !== 0) problems.push(`publint ${pkg.name}\n${publint.stdout}${publint.stderr}`)
  if (pkg.platform) {
    const manifest = await runCommand('tar', ['-xOf', filename, 'package/package.json'])
    problems.push(...findLostPlatform(pkg.name, JSON.parse(manifest.stdout) as object, pkg.platform))
  } else {
    // A platform package has no modules to import.
    const attw = await captureTool('attw', [filename, '--profile', 'esm-only', '--format', 'ascii'])
    if (attw.code !== 0) problems.push(`attw ${pkg.name}\n${attw.stdout}${attw.stderr}`)
  }
  return problems
}
