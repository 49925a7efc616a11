/**
 * The command `pnpm docs:screenshots [--output FOLDER] [--against FOLDER]`, which takes screenshots of the site that `pnpm docs:build` built:
 * twenty kinds of pages, at the widths of a desktop and of a phone, in both colour schemes. With `--against`, a folder of an earlier run,
 * it prints which pages have changed, writes pictures of the differences, and fails if there are any. A page has changed if its size has, or if
 * more than one pixel of ten thousand has another colour. The folder is docs/site/dist/screenshots unless `--output` names another one.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain } from '@tenon/build'

import { runInSite } from './lib/site.ts'

await runMain(() => {
  const { values } = parseArgs({ options: { output: { type: 'string' }, against: { type: 'string' } } })
  const folders = Object.entries(values).map(([name, folder]) => `--${name}=${resolve(folder)}`)
  return runInSite(['src/screenshots.ts', ...folders])
})
