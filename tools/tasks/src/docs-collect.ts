/**
 * The command `pnpm docs:collect <folder> [--next]`, which builds the site and adds it to a folder with the site of all versions: as the
 * release that the packages have, or as main. The workflow deploys that folder. Reports in docs/reports that have failures, or a path of a
 * machine, are refused.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain, ToolError } from '@tenon/build'

import { collectSite } from './lib/collect-site.ts'
import { checkReports } from './lib/published-reports.ts'
import { root } from './lib/root.ts'
import { runInSite } from './lib/site.ts'

await runMain(async () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { next: { type: 'boolean' } } })
  const [folder, ...more] = positionals
  if (folder === undefined || more.length > 0) throw new ToolError('docs:collect needs one folder')
  checkReports(join(root, 'docs/reports'))
  const { version } = JSON.parse(readFileSync(join(root, 'packages/tenon/package.json'), 'utf8')) as { version: string }
  await collectSite(folder, values.next === true ? undefined : version, async (base) => {
    await runInSite(['src/build.ts'], { TENON_SITE_BASE: base })
    return join(root, 'docs/site/dist/site')
  })
})
