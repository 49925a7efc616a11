import { mkdirSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os'
import { dirname, join } from 'node:path'

import { checkoutCommit } from '@tenon/config/checkout-commit'

import type { TestSummary } from './reports.ts'
import { root } from './root.ts'

/** A long run of tests that `pnpm test` has no time for. */
export interface Campaign {
  /** The name of the file: `soak`. */
  readonly name: string
  /** The command line: `pnpm soak`. */
  readonly command: string
  readonly start: Date
  readonly end: Date
  /** The commit whose code ran, with `+` behind it if files differed. */
  readonly commit: string
}

/** The report of a campaign in Markdown. @param tables its lines between the result and the failures. */
export function campaignReport(
  campaign: Campaign,
  { passed, failed, failures }: TestSummary,
  tables: readonly string[] = [],
): string {
  const { command, start, end, commit } = campaign
  const minutes = Math.round((end.getTime() - start.getTime()) / 60_000)
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const machine = `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${availableParallelism()} cores, ${memory}, ${platform()}-${arch()} ${release()}`
  return [
    `# ${command.split(' --')[0]}`,
    '',
    `Written by \`${command}\`, which began on ${start.toISOString().slice(0, 16).replace('T', ' ')} UTC and took ${minutes} minutes.`,
    '',
    `- Commit: ${commit}`,
    `- Machine: ${machine}`,
    `- Node.js: ${process.versions.node}`,
    `- Result: **${passed} passed, ${failed} failed**`,
    ...(tables.length === 0 ? [] : ['', ...tables]),
    ...(failures.length === 0 ? [] : ['', '## Failures', '', ...failures.map((failure) => `- ${failure}`)]),
    '',
  ].join('\n')
}

/**
 * Writes `docs/reports/<name>.md`, which replaces that of the run before.
 *
 * @param args of the command line, behind its name.
 * @param tables as for {@link campaignReport}.
 */
export function writeCampaign(
  name: string,
  args: readonly string[],
  start: Date,
  summary: TestSummary,
  tables?: readonly string[],
): void {
  const campaign: Campaign = {
    name,
    command: ['pnpm', name, ...args].join(' '),
    start,
    end: new Date(),
    commit: checkoutCommit(root),
  }
  const path = join(root, 'docs/reports', `${name.replaceAll(':', '-')}.md`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, campaignReport(campaign, summary, tables))
}
