import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ToolError } from '@tenon/build'

import { root } from './root.ts'

/** Files in the directory of a user, and temporary ones. */
const userPath = /(?<![\w./:])\/(?:home|root|tmp|Users|var\/folders)\/[\w.-]+|\b[A-Z]:\\\\?[\w.-]+/

/**
 * Refuses reports that must not be published: those of runs with failures, and those that contain a path of the machine on which they ran.
 *
 * @param folder with the reports: `docs/reports`.
 * @throws {ToolError} with a line for each of them.
 */
export function checkReports(folder: string): void {
  const reasons = findReportFaults(folder, whyRefused)
  if (reasons.length === 0) return
  const advice = 'Repeat the runs on the commit of the release until they pass, or remove their reports.'
  throw new ToolError(`reports cannot be published:\n${reasons.join('\n')}\n${advice}`)
}

/**
 * Returns a line for each report of a run on other code than that of the commit that is checked out. Pages, reports and the versions of
 * packages may have changed since.
 *
 * @param folder with the reports, in a checkout of the repository with its history.
 */
export function findStaleReports(folder: string): string[] {
  return findReportFaults(folder, (report, name) => (name.endsWith('.md') ? whyStale(report, folder) : undefined))
}

function findReportFaults(folder: string, whyFaulty: (report: string, name: string) => string | undefined): string[] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const reason = whyFaulty(readFileSync(join(folder, name), 'utf8'), name)
      return reason === undefined ? [] : [`${name}: ${reason}`]
    })
}

function whyStale(report: string, folder: string): string | undefined {
  const [, commit, changed] = /^- Commit: ([0-9a-f]{7,40})(\+?)$/m.exec(report) ?? []
  if (commit === undefined) return 'names no commit'
  if (changed !== '') return `is of a checkout that differed from the commit ${commit}`
  let files: string[]
  try {
    const options = { cwd: folder, encoding: 'utf8', stdio: 'pipe' } as const
    files = execFileSync('git', ['diff', '--name-only', '-z', commit, 'HEAD'], options).split('\0')
  } catch {
    return `is of the commit ${commit}, which is not in this checkout`
  }
  const code = files.find((file) => file !== '' && !isDocument.test(file))
  return code && `is of the commit ${commit}, and ${code} has changed since`
}

/** The files that a release changes after its reports. */
const isDocument = /^(?:docs|\.changeset)\/|\.md$|(?:^|\/)package\.json$/

function whyRefused(report: string): string | undefined {
  const [, failed] = /^- Result: \*\*\d+ passed, (\d+) failed\*\*$/m.exec(report) ?? []
  if (failed !== undefined && failed !== '0') return `${failed} tests failed`
  const path = report.includes(root) ? root : userPath.exec(report)?.[0]
  return path && `contains the path ${path}`
}
