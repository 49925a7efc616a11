import type { ReleasePackage } from './release-package.ts'

/** Returns what the changelog of a package says of a version, or undefined. */
export function changesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1)
  const found = sections.find((section) => section.split('\n', 1)[0]!.trim() === version)
  const text = found?.slice(found.indexOf('\n')).trim()
  return text === '' ? undefined : text
}

/** The text of a GitHub release: what changed in each package, those that have a changelog. */
export function releaseNotes(packages: readonly ReleasePackage[]): string {
  const parts = packages.flatMap(({ name, version, files }) => {
    const changes = changesOf(files.get('CHANGELOG.md')?.bytes.toString() ?? '', version)
    return changes === undefined ? [] : [`## ${name} ${version}\n\n${changes}\n`]
  })
  return parts.length === 0
    ? `${packages.map(({ name, version }) => `${name} ${version}`).join(', ')}\n`
    : parts.join('\n')
}

/** The changes of a part that the umbrella's changelog must not repeat. */
export interface PartChanges {
  readonly name: string
  readonly version: string
  /** The folder of the part, relative to that of the umbrella. */
  readonly directory: string
  readonly changelog: string
}

/** The text of an entry, without the commit that Changesets writes before it. */
const textOf = (entry: string): string => entry.replace(/^- (?:[0-9a-f]{7,40}: )?/, '').trim()

const entriesOf = (section: string): string[] => section.split(/^(?=- )/m).filter((part) => part.startsWith('- '))

/**
 * Removes from the newest section of the umbrella's changelog what the changelogs of its parts say, and links to them instead.
 *
 * @param version of the umbrella
 */
export function linkParts(umbrella: string, version: string, parts: readonly PartChanges[]): string {
  const section = changesOf(umbrella, version)
  if (section === undefined || section.includes('### Parts')) return umbrella
  const changed = parts.filter((part) => changesOf(part.changelog, part.version) !== undefined)
  const told = new Set(
    changed.flatMap((part) =>
      entriesOf(`${changesOf(part.changelog, part.version)!}\n`).map((entry) => firstPart(entry)),
    ),
  )
  const kept = section.split(/^(?=### )/m).flatMap((group) => {
    const [head] = group.split('\n', 1)
    const own = entriesOf(group).filter((entry) => !told.has(firstPart(entry)) && !isUpdate(entry))
    return own.length === 0 ? [] : [`${head}\n\n${own.map((entry) => entry.trim()).join('\n')}`]
  })
  const links = changed.map(
    (part) => `- [${part.name} ${part.version}](${part.directory}/CHANGELOG.md#${part.version.replaceAll('.', '')})`,
  )
  const written = [...kept, ...(links.length === 0 ? [] : [`### Parts\n\n${links.join('\n')}`])].join('\n\n')
  return umbrella.replace(section, () => written)
}

const firstPart = (entry: string): string => textOf(entry.split(/^### /m)[0]!)

/** Changesets lists the new versions of dependencies, which the links name. */
const isUpdate = (entry: string): boolean => textOf(entry).startsWith('Updated dependencies')
