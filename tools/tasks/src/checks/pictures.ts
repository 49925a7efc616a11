import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { drawPictures } from '../pictures/pictures.ts'
import { root } from '../lib/root.ts'
import type { Check } from './check.ts'
import { relativeLinks } from './links.ts'
import { listSourceFiles } from './source-files.ts'

const PICTURES = 'docs/pictures'

/** Requires that the pictures of README.md and of the guides are those that the repository draws, and that a page shows each of them. */
export const picturesCheck: Check = {
  name: 'pictures',
  async run() {
    const pictures = drawPictures()
    const stale = pictures.filter(({ path, svg }) => {
      const file = join(root, path)
      return !existsSync(file) || readFileSync(file, 'utf8') !== svg
    })
    const drawn = new Set(pictures.map(({ path }) => path))
    const others = readdirSync(join(root, PICTURES))
      .map((name) => `${PICTURES}/${name}`)
      .filter((path) => !drawn.has(path))
    const links = relativeLinks(await listSourceFiles(['.md']))
    const shown = new Set(links.map(({ page, target }) => join(dirname(page), target)))
    return {
      problems: [
        ...stale.map(({ path }) => `${path} must be what pnpm docs:pictures draws. Run the command.`),
        ...others.map((path) => `${path} is not drawn by pnpm docs:pictures. Remove it.`),
        ...[...drawn].filter((path) => !shown.has(path)).map((path) => `a page must show ${path}`),
      ],
      note: `${pictures.length} pictures`,
    }
  },
}
