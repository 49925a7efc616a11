import { spawn } from 'node:child_process'
import { join } from 'node:path'

import type { Plan } from './measure.ts'
import type { Report } from './run-suite.ts'

/** How to measure one bench file. */
export interface FileOptions {
  /** The Node binary that runs it. */
  readonly node: string
  readonly plan: Plan
  /** Measure the workspace's sources instead of what is built. */
  readonly fromSource: boolean
  /** Only rows with one of these texts in their names; all without it. */
  readonly rows?: readonly string[]
}

/**
 * Measures one bench file in a process of its own: a fresh isolate, whose end the caller survives. What the file prints
 * goes to stderr.
 *
 * @throws {Error} if the process ends otherwise than well.
 */
export function runFile(file: string, options: FileOptions, report: (report: Report) => void): Promise<void> {
  const { node, plan, fromSource, rows } = options
  const args = [
    '--expose-gc',
    // What is measured is code that has been hot for long. The engine's middle compiler would blur that: a loop over a long
    // body can stay with it for seconds, and there a DataView is twenty times slower than in the end.
    '--no-maglev',
    '--disable-warning=ExperimentalWarning',
    ...(fromSource ? ['--conditions=@tenon/source'] : []),
    join(import.meta.dirname, 'child.ts'),
    file,
    JSON.stringify({ plan, rows }),
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { stdio: ['ignore', 2, 2, 'ipc'] })
    child.on('message', (message) => report(message as Report))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${file} ended with ${signal ?? `exit code ${code}`}`))
    })
  })
}
