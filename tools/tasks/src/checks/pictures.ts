import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { drawPictures } from '../lib/pictures.ts'
import { root } from '../lib/root.ts'
import type { Check } from './check.ts'

/** Requires that the pictures of README.md are those that the repository draws. */
export const picturesCheck: Check = {
  name: 'pictures',
  async run() {
    const pictures = drawPictures()
    const stale = pictures.filter(({ path, svg }) => {
      const file = join(root, path)
      return !existsSync(file) || readFileSync(file, 'utf8') !== svg
    })
    const problems = stale.map(({ path }) => `${path} must be what pnpm docs:pictures draws. Run the command.`)
    return { problems, note: `${pictures.length} pictures` }
  },
}
