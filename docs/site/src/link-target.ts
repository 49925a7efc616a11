import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path/posix'

/** The root of the repository. */
export const root: string = resolve(import.meta.dirname, '../../..')

/**
 * Where a link of a page leads on the site. Links to files that are pages become links to these pages, and links to other files of the
 * repository lead to its host.
 *
 * @param link the target as it is written in the Markdown file. @param source the file, relative to the root of the repository.
 * @param addresses the address on the site for each file that is a page. @param repository the address of the repository's host.
 * @throws {Error} if the file does not exist.
 */
export function linkTarget(
  link: string,
  source: string,
  addresses: ReadonlyMap<string, string>,
  repository: string,
): string {
  if (/^([a-z][a-z\d+.-]*:|#|\/\/)/i.test(link)) return link
  const [, path = '', anchor = ''] = /^([^#?]*)(.*)$/.exec(link)!
  const file = normalize(join(dirname(source), decodeURIComponent(path))).replace(/\/$/, '')
  const address = addresses.get(file) ?? addresses.get(`${file}/README.md`)
  // The first page of the site has only parts of README.md.
  if (address !== undefined && !(address === '' && anchor !== '')) return `/${address}${anchor}`
  if (!existsSync(join(root, file))) throw new Error(`${source} links to ${link}, which does not exist`)
  const kind = statSync(join(root, file)).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${file}${anchor}`
}
