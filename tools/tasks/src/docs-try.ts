/**
 * The command `pnpm docs:try [guides] [--runtime bun] [--packages DIRECTORY] [--site DIRECTORY]`, which tries the guides as a new user would: from the built
 * site alone, each in an empty project whose packages come from a registry on this machine. The blocks of the HTML run in order, as they are
 * printed. A project begins with the package.json and the installation that the first guide prints, unless the guide makes one. Tenon's packages are the tarballs of the
 * folder, or are packed for this machine; the site is that of `pnpm docs:build`, which is built unless `--site` says where it is. Prints each block
 * that failed or cannot run here, with the reason, and writes docs/reports/docs-try.md. Needs a C compiler, curl and npm's registry. With
 * `--runtime bun` or `deno`, the reader has that runtime instead of Node.js and npm, writes the commands that docs/runtimes.md has for those of the
 * guides, by default follows those of a new user, and no report is written.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'

import { runMain, ToolError } from '@tenon/build'

import { testedRuntimes } from '@tenon/config/runtimes'

import { followGuide, type Followed } from './guides/follow-guide.ts'
import { nodeReader, pathWithout, readers, type Reader } from './guides/readers.ts'
import { siteBlocks, type SiteBlock } from './guides/site-blocks.ts'
import { writeCampaign } from './lib/campaign-report.ts'
import type { TestSummary } from './lib/reports.ts'
import { root } from './lib/root.ts'
import { runInSite } from './lib/site.ts'
import { build } from './lib/turbo.ts'
import { rehearse, type Sandbox } from './rehearse/rehearsal.ts'

/** The guide whose first blocks make a project. */
const FIRST = 'first-kernel'

/** The guides of a new user of Bun or Deno. */
const OF_RUNTIMES = [FIRST, 'isolation', 'serving', 'one-file', 'runtimes']

await runMain(async () => {
  const start = new Date()
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { runtime: { type: 'string' }, packages: { type: 'string' }, site: { type: 'string' } },
  })
  const runtime = testedRuntimes.find((name) => name === values.runtime)
  if (runtime === undefined && values.runtime !== undefined)
    throw new ToolError(`--runtime must be ${testedRuntimes.join(' or ')}, got ${values.runtime}`)
  if (values.packages === undefined) await build()
  if (values.site === undefined) await runInSite(['src/build.ts'])
  const guides = readGuides(values.site ?? join(root, 'docs/site/dist/site'))
  const unknown = positionals.filter((name) => !guides.has(name))
  if (unknown.length > 0) throw new ToolError(`the site has no guide ${unknown.join(', ')}`)
  const all = runtime === undefined ? [...guides.keys()] : OF_RUNTIMES
  const chosen = positionals.length > 0 ? positionals : all
  await rehearse(values.packages, async (rehearsal) => {
    const sandbox = rehearsal.sandbox(undefined, runtime && pathWithout(runtime))
    const reader = runtime === undefined ? nodeReader : readers[runtime]
    const followed: Followed[] = []
    for (const name of chosen) followed.push(...(await tryGuide(name, guides, sandbox, reader)))
    const summary = report(followed)
    if (runtime === undefined) writeReport(followed, summary, chosen, start, positionals)
  })
})

/** The blocks of each guide that has any, by its name. */
function readGuides(site: string): ReadonlyMap<string, readonly SiteBlock[]> {
  const guides = globSync('guides/*.html', { cwd: site })
    .toSorted()
    .map((path) => [basename(path, '.html'), siteBlocks(readFileSync(join(site, path), 'utf8'))] as const)
  if (guides.length === 0) throw new ToolError(`${site} has no guides; run pnpm docs:build`)
  return new Map(guides.filter(([, blocks]) => blocks.length > 0))
}

/** Follows a guide in a project of its own. */
async function tryGuide(
  name: string,
  guides: ReadonlyMap<string, readonly SiteBlock[]>,
  sandbox: Sandbox,
  reader: Reader,
): Promise<Followed[]> {
  const blocks = guides.get(name)!
  sandbox.write(reader.files, name)
  const first = guides.get(FIRST)!
  const install = first.findIndex(({ language, code }) => language === 'sh' && code.startsWith('npm install'))
  const makesProject = name === FIRST || blocks[0]!.code.includes('tenon new ')
  const project = makesProject
    ? []
    : await followGuide(`${name}: ${FIRST}`, first.slice(0, install + 1), sandbox, name, reader)
  const followed = await followGuide(name, blocks, sandbox, name, reader)
  const count = followed.filter(({ outcome }) => outcome === 'passed').length
  process.stdout.write(`${name}: ${count} of ${followed.length} blocks\n`)
  return [...project.filter(({ outcome }) => outcome === 'failed'), ...followed]
}

const linesOf = (followed: readonly Followed[], wanted: Followed['outcome']): string[] =>
  followed.filter(({ outcome }) => outcome === wanted).map(({ place, reason }) => `${place}: ${reason ?? ''}`)

/** Prints what failed and what was not run. */
function report(followed: readonly Followed[]): TestSummary {
  const [failures, notRun] = [linesOf(followed, 'failed'), linesOf(followed, 'not run')]
  for (const line of notRun) process.stdout.write(`not run: ${line}\n`)
  for (const line of failures) process.stdout.write(`failed: ${line}\n`)
  const passed = followed.filter(({ outcome }) => outcome === 'passed').length
  process.stdout.write(`${passed} passed, ${failures.length} failed, ${notRun.length} cannot run here\n`)
  if (failures.length > 0) process.exitCode = 1
  return { passed, failed: failures.length, failures: failures.map((text) => text.split('\n')[0]!) }
}

/** Writes docs/reports/docs-try.md. @param names the arguments of the command */
function writeReport(
  followed: readonly Followed[],
  summary: TestSummary,
  guides: readonly string[],
  start: Date,
  names: readonly string[],
): void {
  const count = (name: string, wanted: Followed['outcome']): number =>
    followed.filter(({ place, outcome }) => place.startsWith(`${name} `) && outcome === wanted).length
  const counts = guides.map(
    (name) =>
      `- ${name}: ${count(name, 'passed')} passed, ${count(name, 'failed')} failed, ${count(name, 'not run')} not run`,
  )
  const notRun = linesOf(followed, 'not run')
  const reasons = notRun.length === 0 ? [] : ['', '## Not run', '', ...notRun.map((line) => `- ${line}`)]
  writeCampaign('docs:try', names, start, summary, ['## Blocks of each guide', '', ...counts, ...reasons])
}
