import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { npm, publishedIntegrity, publishPackages, ToolError } from '@tenon/build/internal'

import { findPlaceholders, type ProjectFacts, repositoryUrl } from '../lib/project.ts'

/** The version that takes a name. */
export const bootstrapVersion = '0.0.0-bootstrap.0'

/** A name of a package, and its folder in the repository. */
export interface BootstrapName {
  readonly name: string
  readonly directory: string
}

/**
 * Publishes an empty version of each name that the registry does not have, because npm accepts a trusted publisher only for a name that
 * exists. Run it as a person with a token of a few hours, once.
 *
 * @param env the environment of npm
 * @returns what is to be set up on npm's pages afterwards
 * @throws {ToolError} in a workflow, or while `project.json` has its first values
 */
export function bootstrapNames(
  names: readonly BootstrapName[],
  project: ProjectFacts,
  env: NodeJS.ProcessEnv,
  tell: (line: string) => void,
): string[] {
  if (env['CI']) throw new ToolError('a person must run this command, and CI is set: no token belongs in a workflow')
  const [unfilled] = findPlaceholders(project)
  if (unfilled !== undefined) throw new ToolError(unfilled)
  for (const one of names) {
    if (publishedIntegrity(one.name, undefined, env) !== undefined) tell(`${one.name} exists`)
    else takeName(one, project, env, tell)
  }
  const { owner, repository } = project
  return names.map(
    ({ name }) => `https://www.npmjs.com/package/${name}/access: ${owner}/${repository}, release.yml, environment npm`,
  )
}

/** Publishes a package with nothing but a manifest and a README, and warns those who would install it. */
function takeName(
  { name, directory }: BootstrapName,
  project: ProjectFacts,
  env: NodeJS.ProcessEnv,
  tell: (line: string) => void,
): void {
  const url = repositoryUrl(project)
  const manifest = {
    name,
    version: bootstrapVersion,
    description: `Reserves the name of a package of Tenon. See ${url}.`,
    license: 'Apache-2.0',
    repository: { type: 'git', url: `git+${url}.git`, directory },
  }
  const readme = `# ${name}\n\nThis version has no contents. It exists so that releases of [Tenon](${url}) can be published by a workflow.\n`
  const folder = mkdtempSync(join(tmpdir(), 'tenon-bootstrap-'))
  try {
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
    writeFileSync(join(folder, 'README.md'), readme)
    publishPackages([folder], { tag: 'bootstrap', access: 'public', provenance: false, env }, tell)
    const args = ['deprecate', `${name}@${bootstrapVersion}`, 'This version has no contents.']
    if (npm(args, env, { stdio: 'inherit' }).status !== 0) throw new ToolError(`npm could not deprecate ${name}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
