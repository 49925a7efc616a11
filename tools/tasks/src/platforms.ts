/**
 * The command `pnpm platforms`, which writes the table of the platforms in README.md from platforms.json. With `--released`, it prints the
 * released platforms and their machines instead, for a matrix of GitHub Actions: as an output of the step if it runs in one.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain } from '@tenon/build'

import { platformTable, readPlatforms, releasedPlatforms, withPlatformTable } from './lib/platforms.ts'
import { root } from './lib/root.ts'

await runMain(async () => {
  const { values } = parseArgs({ options: { released: { type: 'boolean' } } })
  const all = readPlatforms()
  if (values.released) {
    const matrix = releasedPlatforms(all).map(({ name, runner }) => ({ platform: name, runner }))
    const line = `platforms=${JSON.stringify(matrix)}\n`
    const output = process.env['GITHUB_OUTPUT']
    if (output) appendFileSync(output, line)
    else process.stdout.write(line)
    return
  }
  const path = join(root, 'README.md')
  writeFileSync(path, withPlatformTable(readFileSync(path, 'utf8'), platformTable(all)))
})
