import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ToolError } from '@tenon/build'

import { root } from './root.ts'

/** Where the project is on the Internet, from `project.json`. */
export interface ProjectFacts {
  /** The owner of the repository on GitHub. */
  readonly owner: string
  /** The name of the repository on GitHub. */
  readonly repository: string
  /** The address of the documentation, without `/` at the end. */
  readonly site: string
  /** The scope of the packages on npm. */
  readonly scope: string
}

const fields = ['owner', 'repository', 'site', 'scope'] as const

/** The values until a person fills the file. */
const placeholder = /\b(?:OWNER|REPOSITORY|SITE)\b/

/** Reads `project.json`. @throws {ToolError} if a field is missing */
export function readProject(): ProjectFacts {
  const facts = JSON.parse(readFileSync(join(root, 'project.json'), 'utf8')) as ProjectFacts
  const missing = fields.filter((field) => typeof facts[field] !== 'string')
  if (missing.length > 0) throw new ToolError(`project.json must have ${missing.join(', ')}`)
  return facts
}

/** The address of the repository's pages. */
export const repositoryUrl = ({ owner, repository }: ProjectFacts): string =>
  `https://github.com/${owner}/${repository}`

/** Returns a sentence while `project.json` still has its first values. */
export function findPlaceholders(facts: ProjectFacts): string[] {
  const unfilled = fields.filter((field) => placeholder.test(facts[field]))
  if (unfilled.length === 0) return []
  return [
    `project.json must name the real ${unfilled.join(', ')}, got ${unfilled.map((field) => facts[field]).join(', ')}`,
  ]
}
