import type { NpmPackage } from '@tenon/build/internal'

/** Returns what the changelog of a package says of a version, or undefined. */
function changesOf(changelog: string, version: string): string | undefined {
  const found = changelog.split(/^## /m).find((section) => section.split('\n', 1)[0]!.trim() === version)
  return found?.slice(found.indexOf('\n')).trim() || undefined
}

/** The text of a GitHub release: what changed in each package, those that have a changelog. */
export function releaseNotes(packages: readonly NpmPackage[]): string {
  const parts = packages.flatMap(({ name, version, files }) => {
    const changes = changesOf(files.get('CHANGELOG.md')?.bytes.toString() ?? '', version)
    return changes === undefined ? [] : [`## ${name} ${version}\n\n${changes}\n`]
  })
  return parts.length > 0
    ? parts.join('\n')
    : `${packages.map(({ name, version }) => `${name} ${version}`).join(', ')}\n`
}
