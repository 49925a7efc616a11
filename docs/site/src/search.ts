import type { DefaultTheme } from 'vitepress'
import { sections } from './pages.ts'

type SearchOptions = NonNullable<DefaultTheme.LocalSearchOptions>

const words = new Map(sections.flatMap(({ pages }) => pages.map((page) => [`${page.address}.md`, page.words ?? []])))

/**
 * The search of the site. Of a page of the reference, its name and its first paragraph are found, and of other pages all of their text
 * and the words that `pages.ts` adds. Guides come before packages and errors, and these before the reference.
 */
export const search: SearchOptions = {
  _render(source, env, markdown) {
    const html = markdown.render(source, env)
    const { relativePath, frontmatter } = env as { relativePath: string; frontmatter?: { search?: boolean } }
    if (frontmatter?.search === false) return ''
    if (relativePath.startsWith('reference/')) return /^.*?<\/h1>(?:.*?<\/p>)?/s.exec(html)?.[0] ?? ''
    const added = words.get(relativePath) ?? []
    return added.length === 0 ? html : html.replace('</h1>', `</h1>\n<p>${added.join(', ')}</p>`)
  },
  miniSearch: {
    searchOptions: {
      // A short word with another letter is another word: bun is not run.
      fuzzy: (term: string) => (term.length > 5 ? 0.2 : false),
      boost: { title: 4, titles: 2, text: 1 },
      boostDocument: (id: string) => {
        if (id.includes('/reference/')) return 0.2
        // Pages that compare, and those of single libraries, mention everything.
        if (/\/guides\/(cookbook\/|benchmarks|proof|migration|koffi|limits)/.test(id)) return 2
        return id.includes('/guides/') ? 3 : 1
      },
    },
  },
}
