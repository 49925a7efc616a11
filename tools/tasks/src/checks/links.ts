import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { root } from '../lib/root.ts'
import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

export interface Link {
  readonly page: string
  readonly line: number
  readonly target: string
}

/** The forms `[text](target)`, `[name]: target` and `src="target"`. A target with blanks is in angle brackets. */
const linkForms = [
  /\]\(\s*(?:<([^>]*)>|([^\s)]+))[^)]*\)/g,
  /^ {0,3}\[[^\]]+\]:\s*(?:<([^>]*)>|(\S+))/g,
  /\b(?:src|srcset)="([^"]+)"/g,
]

/** Finds the links of pages to files of the repository. Links with a scheme, within a page or in code are ignored. */
export function relativeLinks(pages: readonly SourceFile[]): Link[] {
  return pages.flatMap(({ path: page, text }) => {
    let fence: string | undefined
    return text.split('\n').flatMap((line, index) => {
      const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
      if (mark !== undefined && (fence === undefined || mark.startsWith(fence))) {
        fence = fence === undefined ? mark : undefined
        return []
      }
      if (fence !== undefined) return []
      const prose = line.replaceAll(/(?<!\[)`[^`]*`(?!\])/g, '')
      return linkForms
        .flatMap((form) => [...prose.matchAll(form)].map((match) => match[1] ?? match[2]!))
        .filter((target) => !/^([a-z][a-z\d+.-]*:|#|\/\/)/i.test(target))
        .map((target) => ({ page, line: index + 1, target }))
    })
  })
}

export function findBrokenLinks(links: readonly Link[], exists: (path: string) => boolean): string[] {
  return links
    .filter(({ page, target }) => {
      const path = decodeURIComponent(target.replace(/[#?].*$/, ''))
      return !exists(join(path.startsWith('/') ? '.' : dirname(page), path))
    })
    .map(({ page, line, target }) => `${page}:${line} links to ${target}, which does not exist`)
}

export const linksCheck: Check = {
  name: 'links',
  async run() {
    const links = relativeLinks(await listSourceFiles(['.md']))
    return {
      problems: findBrokenLinks(links, (path) => existsSync(join(root, path))),
      note: `${links.length} links`,
    }
  },
}
