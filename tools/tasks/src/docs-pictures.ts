/** The command `pnpm docs:pictures`, which draws the pictures of README.md and of the guides, for light and for dark pages. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { runMain } from '@tenon/build'

import { drawPictures } from './pictures/pictures.ts'
import { root } from './lib/root.ts'

await runMain(async () => {
  for (const { path, svg } of drawPictures()) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), svg)
  }
})
