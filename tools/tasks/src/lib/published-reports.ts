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
  const reasons = readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const reason = whyRefused(readFileSync(join(folder, name), 'utf8'))
      return reason === undefined ? [] : [`${name}: ${reason}`]
    })
  if (reasons.length === 0) return
  const advice = 'Repeat the runs on the commit of the release until they pass, or remove their reports.'
  throw new ToolError(`reports cannot be published:\n${reasons.join('\n')}\n${advice}`)
}

function whyRefused(report: string): string | undefined {
  const [, failed] = /^- Result: \*\*\d+ passed, (\d+) failed\*\*$/m.exec(report) ?? []
  if (failed !== undefined && failed !== '0') return `${failed} tests failed`
  const path = report.includes(root) ? root : userPath.exec(report)?.[0]
  return path && `contains the path ${path}`
}
