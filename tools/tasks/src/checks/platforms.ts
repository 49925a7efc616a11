import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { platformTable, readPlatforms, withPlatformTable } from '../lib/platforms.ts'
import { root } from '../lib/root.ts'
import type { Check } from './check.ts'

/** Requires that the table of README.md says what platforms.json says. */
export const platformsCheck: Check = {
  name: 'platforms',
  async run() {
    const page = readFileSync(join(root, 'README.md'), 'utf8')
    const all = readPlatforms()
    const isCurrent = withPlatformTable(page, platformTable(all)) === page
    const problems = isCurrent ? [] : ['README.md must have the table of platforms.json. Run pnpm platforms.']
    return { problems, note: `${all.length} platforms` }
  },
}
