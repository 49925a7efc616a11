/** Builds the site to `dist/site/`. */
import { build } from 'vitepress'
import { writeReference } from './reference.ts'
import { stagePages } from './stage.ts'

stagePages()
await writeReference()
await build()
