import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import type { TestedRuntime } from '@tenon/config/runtimes'

import { isPlotFile } from './bench-files.ts'
import type { Plan } from './measure.ts'
import type { Report } from './run-suite.ts'

export interface FileOptions {
  readonly node: string
  /** The runtime behind the path `node`, if it is not Node.js. */
  readonly runtime?: TestedRuntime | undefined
  readonly plan: Plan
  /** Whether to measure the sources of the workspace instead of the built packages. */
  readonly fromSource: boolean
  /** The names of the rows must contain one of these texts. */
  readonly rows?: readonly string[]
}

/** The threads of Tenon, and of libuv, which runs the asynchronous calls of its peers: at least as many as a plot shows. */
const THREADS = String(Math.max(16, availableParallelism()))
const ofPlots = { TENON_THREADS: THREADS, UV_THREADPOOL_SIZE: THREADS }

/** A new process runs the file, so that a crash does not end the caller. The output of the file goes to stderr. */
export function runFile(file: string, options: FileOptions, report: (report: Report) => void): Promise<void> {
  const { node, runtime, plan, fromSource, rows } = options
  const args = [
    ...flagsOf(runtime, fromSource),
    join(import.meta.dirname, 'child.ts'),
    file,
    JSON.stringify({ plan, rows }),
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, {
      stdio: ['ignore', 2, 2, 'ipc'],
      env: { ...(isPlotFile(file) && ofPlots), ...process.env },
    })
    child.on('message', (message) => report(message as Report))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${file} ended with ${signal ?? `exit code ${code}`}`))
    })
  })
}

function flagsOf(runtime: TestedRuntime | undefined, fromSource: boolean): string[] {
  const conditions = fromSource ? ['--conditions=@tenon/source'] : []
  if (runtime === 'bun') return ['--expose-gc', ...conditions]
  if (runtime === 'deno') return ['run', '--allow-all', ...conditions, '--v8-flags=--expose-gc,--no-maglev']
  return [
    '--expose-gc',
    // The benchmarks measure code that has been hot for long. Without this, a loop over a long body can stay with the engine's
    // middle compiler for seconds, where a DataView is twenty times slower.
    '--no-maglev',
    '--disable-warning=ExperimentalWarning',
    ...conditions,
  ]
}
