import { globSync } from 'node:fs'

import { expect, test } from 'vitest'

import { sections } from '../../../docs/site/src/pages.ts'
import { root } from '../src/lib/root.ts'

/** Pages that commands write, which only other pages mention. */
const written = ['docs/gpu-report.md', 'docs/reports/**', 'docs/errors/**', 'docs/site/**']

test('each page of docs is in the navigation of the site, once', () => {
  const listed = sections.flatMap(({ pages }) => pages.map(({ source }) => source))
  expect(listed.filter((source, i) => listed.indexOf(source) !== i)).toEqual([])
  const pages = globSync('docs/**/*.md', { cwd: root, exclude: [...written, '**/node_modules/**'] })
  expect(
    pages.filter((page) => !listed.includes(page)),
    'add them to docs/site/src/pages.ts',
  ).toEqual([])
  expect(pages.length).toBeGreaterThan(40)
})
