import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { contestants } from './contestants/index.ts'
import type { Arena } from './run-line.ts'

const versionIn = (file: string): string => (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version

/** The versions of Tenon, of the runtimes, and of the rivals that are installed. */
export function versionsOf({ runtimes, setup }: Arena): Record<string, string> {
  const versions: Record<string, string> = {
    tenon: versionIn(join(import.meta.dirname, '../../../packages/tenon/package.json')),
  }
  for (const [name, path] of Object.entries(runtimes))
    versions[name] = /\d+\.\d+\.\d+/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))![0]
  for (const name of [...contestants.map((contestant) => contestant.package), 'node-addon-api']) {
    if (name === undefined || name === 'tenon') continue
    try {
      versions[name] = versionIn(join(dirname(setup.rivals), 'node_modules', name, 'package.json'))
    } catch {
      // A rival that is not installed is among the absent ones.
    }
  }
  return versions
}
