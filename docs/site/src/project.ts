import { readFileSync } from 'node:fs'
import { join } from 'node:path/posix'
import { root } from './link-target.ts'

const { owner, repository } = JSON.parse(readFileSync(join(root, 'project.json'), 'utf8')) as {
  readonly owner: string
  readonly repository: string
}

/** Where the repository is on the Internet. */
export const project = { repository: `https://github.com/${owner}/${repository}` }
