/** Writes the pages of the site to `dist/pages/`, from the Markdown files of the repository. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path/posix'
import { firstPage } from './first-page.ts'
import { root } from './link-target.ts'
import { ERRORS, sections, type Page } from './pages.ts'

/** The folder that VitePress reads. */
export const staged: string = join(import.meta.dirname, '../dist/pages')

/** One page for each error code, and their list. */
export function errorPages(): readonly Page[] {
  return readdirSync(join(root, ERRORS))
    .filter((file) => file.endsWith('.md'))
    .map((file) => {
      const name = file === 'README.md' ? 'index' : basename(file, '.md')
      return { source: `${ERRORS}/${file}`, address: `errors/${name}`, title: name }
    })
}

/** All pages whose text is in the repository. */
export const allPages = (): readonly Page[] => [...sections.flatMap(({ pages }) => pages), ...errorPages()]

/** Writes all pages anew. The reference is left as it is. */
export function stagePages(): void {
  for (const entry of ['guides', 'cookbook', 'packages', 'errors', 'images', 'public']) {
    rmSync(join(staged, entry), { recursive: true, force: true })
  }
  for (const { source, address } of allPages()) {
    const file = join(staged, `${address}.md`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, withImages(readFileSync(join(root, source), 'utf8'), source))
  }
  writeFileSync(join(staged, 'index.md'), withImages(firstPage(), 'README.md'))
}

/** A picture that has a file for each theme, which a host of repositories chooses by the theme of the system. */
const THEMED =
  /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)" width="(\d+)">\s*<\/picture>/g

/**
 * Copies the images of a page, whose paths are relative to its file, to the site. Of a picture with a file for each theme, the page
 * has both, because the menu of the site chooses the theme.
 */
function withImages(text: string, source: string): string {
  return text
    .replaceAll(THEMED, (_, dark: string, alt: string, light: string, width: string) => {
      const image = (theme: string, path: string): string =>
        `<img class="only-${theme}" alt="${alt}" src="${path}" width="${width}">`
      return `<p>${image('light', light)}${image('dark', dark)}</p>`
    })
    .replaceAll(/!\[([^\]]*)\]\(([^):]+)\)/g, (_, alt: string, path: string) => `![${alt}](${copyImage(path, source)})`)
    .replaceAll(/\bsrc="([^":]+\.svg)"/g, (_, path: string) => `src="${copyImage(path, source)}"`)
}

/** Copies an image of a page to the site. @returns its address there. */
function copyImage(path: string, source: string): string {
  const from = join(dirname(source), path)
  const name = from.replaceAll('/', '-')
  mkdirSync(join(staged, 'public/images'), { recursive: true })
  copyFileSync(join(root, from), join(staged, 'public/images', name))
  return `/images/${name}`
}
