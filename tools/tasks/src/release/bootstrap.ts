import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { ToolError } from '@tenon/build'

import { findPlaceholders, type ProjectFacts, repositoryUrl } from '../lib/project.ts'
import { writePackage } from './pack-release.ts'
import type { ReleaseRegistry } from './publish.ts'
import { type ReleasePackage, releasePackage } from './release-package.ts'

/** The version that takes a name. */
export const bootstrapVersion = '0.0.0-bootstrap.0'

/** A name of a package, and its folder in the repository. */
export interface BootstrapName {
  readonly name: string
  readonly directory: string
}

/** A package with nothing but a manifest and a README. */
export function bootstrapPackage({ name, directory }: BootstrapName, project: ProjectFacts): ReleasePackage {
  const url = repositoryUrl(project)
  const manifest = {
    name,
    version: bootstrapVersion,
    description: `Reserves the name of a package of Tenon. See ${url}.`,
    license: 'Apache-2.0',
    repository: { type: 'git', url: `git+${url}.git`, directory },
    publishConfig: { access: 'public' },
  }
  const readme = `# ${name}\n\nThis version has no contents. It exists so that releases of [Tenon](${url}) can be published by a workflow.\n`
  const fileOf = (text: string): { bytes: Buffer; executable: boolean } => ({
    bytes: Buffer.from(text),
    executable: false,
  })
  return releasePackage(
    name,
    new Map([
      ['package.json', fileOf(`${JSON.stringify(manifest, undefined, 2)}\n`)],
      ['README.md', fileOf(readme)],
    ]),
  )
}

/**
 * Publishes an empty version of each name that the registry does not have, because npm accepts a trusted publisher only for a name that
 * exists. Run it as a person with a token of a few hours, once.
 *
 * @param hasName whether the registry has any version of a name
 * @returns what is to be set up on npm's pages afterwards
 * @throws {ToolError} in a workflow, or while `project.json` has its first values
 */
export async function bootstrapNames(
  names: readonly BootstrapName[],
  context: {
    readonly project: ProjectFacts
    readonly registry: ReleaseRegistry
    readonly hasName: (name: string) => Promise<boolean>
    readonly environment: NodeJS.ProcessEnv
    readonly tell: (line: string) => void
  },
): Promise<string[]> {
  const { project, registry, hasName, environment, tell } = context
  if (environment['CI'])
    throw new ToolError('a person must run this command, and CI is set: no token belongs in a workflow')
  const [unfilled] = findPlaceholders(project)
  if (unfilled !== undefined) throw new ToolError(unfilled)
  const directory = mkdtempSync(join(tmpdir(), 'tenon-bootstrap-'))
  try {
    for (const one of names) {
      if (await hasName(one.name)) tell(`${one.name} exists`)
      else {
        tell(`publishing ${one.name}@${bootstrapVersion}`)
        await registry.publish(writePackage(bootstrapPackage(one, project), directory), 'bootstrap')
        await registry.deprecate(one.name, bootstrapVersion, 'This version has no contents.')
      }
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
  const { owner, repository } = project
  return names.map(
    ({ name }) => `https://www.npmjs.com/package/${name}/access: ${owner}/${repository}, release.yml, environment npm`,
  )
}
