import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A paragraph of the documentation. */
export interface Text {
  /** The path of its page, relative to the root of the repository. */
  readonly file: string
  readonly words: string
}

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Returns the paragraphs of the documentation, without headings, tables and code. */
export function documentation(): Text[] {
  return globSync(['docs/**/*.md', 'packages/*/README.md'], { cwd: root })
    .toSorted()
    .flatMap((file) => paragraphs(readFileSync(`${root}/${file}`, 'utf8')).map((words) => ({ file, words })))
}

function paragraphs(markdown: string): string[] {
  return markdown
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim().replaceAll(/\s+/g, ' '))
    .filter((paragraph) => /^[A-Za-z`*-]/.test(paragraph) && paragraph.length > 40)
}
