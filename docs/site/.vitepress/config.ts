import { readFileSync } from 'node:fs'
import { relative } from 'node:path/posix'
import { defineConfig, type DefaultTheme, type MarkdownOptions } from 'vitepress'
import { linkTarget, root } from '../src/link-target.ts'
import { sections } from '../src/pages.ts'
import { project } from '../src/project.ts'
import { referenceAddress, referenceGroups } from '../src/reference-groups.ts'
import { search } from '../src/search.ts'
import { allPages, staged } from '../src/stage.ts'

const pages = allPages()
const sources = new Map(pages.map(({ source, address }) => [`${address}.md`, source]))
const addresses = new Map([
  ['README.md', ''],
  ...pages.map(({ source, address }) => [source, address.replace(/index$/, '')] as const),
])

const { version } = JSON.parse(readFileSync(`${root}/packages/tenon/package.json`, 'utf8')) as { version: string }

/** Links of pages that come from the repository are relative to their files there. */
const rewriteLinks: MarkdownOptions['config'] = (markdown) => {
  markdown.core.ruler.push('repository-links', ({ tokens, env }: { tokens: Token[]; env: { path?: string } }) => {
    // The titles of pages are read without their file.
    if (env.path === undefined) return
    const page = relative(staged, env.path)
    const source = page === 'index.md' ? 'README.md' : sources.get(page)
    if (source === undefined) return
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== 'link_open') continue
      token.attrSet('href', linkTarget(token.attrGet('href')!, source, addresses, project.repository))
    }
  })
}

/** The names of files that blocks show, `c file=axpy.c`, are above the blocks. */
const showFileNames: MarkdownOptions['config'] = (markdown) => {
  const { fence } = markdown.renderer.rules
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const [, name] = /\sfile=(\S+)/.exec(tokens[index]!.info) ?? []
    const title = name === undefined ? '' : `<p class="file-name">${markdown.utils.escapeHtml(name)}</p>\n`
    return title + fence!(tokens, index, ...rest)
  }
}

interface Token {
  readonly type: string
  readonly children: Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

/** The anchor of a heading, as on the host of the repository, so that links in READMEs lead to the same place in both. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')

const sidebar: DefaultTheme.SidebarItem[] = [
  ...sections.map(({ title, pages: listed }) => ({
    text: title,
    items: listed.map((page) => ({ text: page.title, link: `/${page.address.replace(/index$/, '')}` })),
  })),
  {
    text: 'Look up',
    items: [
      { text: 'Reference', link: '/reference/' },
      { text: 'Errors', link: '/errors/' },
    ],
  },
]

/** The navigation of the pages of the reference. */
const referenceSidebar: DefaultTheme.SidebarItem[] = [
  { text: 'Reference', link: '/reference/' },
  ...referenceGroups.map(({ task, entries }) => ({
    text: task,
    items: entries.map(({ name }) => ({ text: name, link: referenceAddress(name) })),
  })),
  { text: 'Guides', link: '/guides/first-kernel' },
]

/** The addresses of the pages in a navigation. Only these have a next page. */
const ordered = new Set([
  ...sections.flatMap((section) => section.pages.map(({ address }) => address)),
  ...['reference/index', 'errors/index'],
  ...referenceGroups.flatMap(({ entries }) => entries.map(({ name }) => `reference/${name}/index`)),
])

export default defineConfig({
  transformPageData({ relativePath, frontmatter }) {
    if (!ordered.has(relativePath.replace(/\.md$/, ''))) Object.assign(frontmatter, { prev: false, next: false })
  },
  srcDir: 'dist/pages',
  outDir: 'dist/site',
  base: process.env['TENON_SITE_BASE'] ?? '/',
  title: 'Tenon',
  description: 'The joint between TypeScript and native kernels.',
  lang: 'en',
  cacheDir: 'dist/cache',
  metaChunk: true,
  markdown: {
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      rewriteLinks(markdown)
      showFileNames(markdown)
    },
    // The themes with a contrast of at least 4.5.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vite: { define: { SITE_VERSION: JSON.stringify(version) } },
  themeConfig: {
    search: { provider: 'local', options: search },
    nav: [
      { text: 'Guides', link: '/guides/first-kernel', activeMatch: '^/guides/' },
      { text: 'Packages', link: '/packages/tenon', activeMatch: '^/packages/' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Errors', link: '/errors/', activeMatch: '^/errors/' },
    ],
    sidebar: { '/reference/': referenceSidebar, '/': sidebar },
    outline: [2, 3],
    footer: { message: 'Apache-2.0' },
  },
})
