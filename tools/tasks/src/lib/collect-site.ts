import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ToolError } from '@tenon/build'

/** Builds the site for a path under which it is served. @returns the folder with its files, until the next one is built */
export type BuildSite = (base: string) => Promise<string>

/** One line of `versions.json`, which the menu of each page reads. */
interface Version {
  readonly name: string
  readonly path: string
}

/** The folder of main among the versions. */
const NEXT = 'next'

/**
 * Adds a version to a folder that has the site of all versions: the latest release at `/`, each release at `/<major.minor>/`, and main
 * at `/next/`. The folders of other versions, and what begins with a dot, stay as they are.
 *
 * @param version of the release, or undefined for main.
 * @throws {ToolError} if the version is none.
 */
export async function collectSite(folder: string, version: string | undefined, build: BuildSite): Promise<void> {
  mkdirSync(folder, { recursive: true })
  if (version === undefined) {
    await replace(join(folder, NEXT), build, `/${NEXT}/`)
  } else {
    const [, minor] = /^(\d+\.\d+)\.\d+$/.exec(version) ?? []
    if (minor === undefined) {
      throw new ToolError(`the version of a site must be one of a release, such as 1.2.3, got ${version}`)
    }
    await replace(join(folder, minor), build, `/${minor}/`)
    if (releasesOf(folder)[0] === minor) await replaceRoot(folder, build)
  }
  writeFileSync(join(folder, 'versions.json'), `${JSON.stringify(versionsOf(folder), null, 2)}\n`)
}

async function replace(folder: string, build: BuildSite, base: string): Promise<void> {
  const built = await build(base)
  rmSync(folder, { recursive: true, force: true })
  cpSync(built, folder, { recursive: true })
}

/** Replaces the files of the latest release, and leaves the folders of versions alone. */
async function replaceRoot(folder: string, build: BuildSite): Promise<void> {
  const built = await build('/')
  const versions = new Set([NEXT, ...releasesOf(folder)])
  const old = readdirSync(folder).filter((name) => !versions.has(name) && !name.startsWith('.'))
  for (const name of old) rmSync(join(folder, name), { recursive: true })
  cpSync(built, folder, { recursive: true })
}

/** The releases that have a folder, the latest one first. */
function releasesOf(folder: string): string[] {
  const numbers = (name: string): number => {
    const [major, minor] = name.split('.').map(Number)
    return major! * 2 ** 20 + minor!
  }
  return readdirSync(folder)
    .filter((name) => /^\d+\.\d+$/.test(name))
    .toSorted((a, b) => numbers(b) - numbers(a))
}

function versionsOf(folder: string): Version[] {
  const [latest, ...older] = releasesOf(folder)
  const versions = older.map((name): Version => ({ name, path: `/${name}/` }))
  if (latest !== undefined) versions.unshift({ name: `${latest} (latest)`, path: '/' })
  if (readdirSync(folder).includes(NEXT)) versions.push({ name: 'main', path: `/${NEXT}/` })
  return versions
}
