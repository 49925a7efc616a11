import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Contestant, Runtime, Setup } from './contestant.ts'
import type { Line } from './line.ts'
import { type Ending, type Finding, judge, type Report } from './verdict.ts'

/** The paths of the runtimes. */
export type Runtimes = Readonly<Partial<Record<Runtime, string>>>

const LIMIT = 60_000

/** The flags with which a runtime runs a program that has `gc()`, and its FFI. */
const flags: Readonly<Record<Runtime, readonly string[]>> = {
  node: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
  bun: ['--expose-gc'],
  deno: ['run', '--allow-all', '--v8-flags=--expose-gc'],
}

/** Where a line finds its contestants. */
export interface Arena {
  readonly runtimes: Runtimes
  readonly setup: Setup
  /** The URL of the module whose export `contestants` has them. */
  readonly contestants: string
}

/** Runs a line with a contestant in a process of its own, and judges what came of it. */
export async function runLine(line: Line, { name, runtimes }: Contestant, arena: Arena): Promise<Finding> {
  const runtime = runtimes[0]!
  const path = arena.runtimes[runtime]
  if (path === undefined)
    return { line: line.name, contestant: name, verdict: 'not loaded', seen: `${runtime} is not installed` }
  const program = join(import.meta.dirname, 'child.ts')
  const directory = mkdtempSync(join(tmpdir(), 'tenon-prove-'))
  try {
    const file = join(directory, 'report.json')
    const args = [...flags[runtime], program, line.name, arena.contestants, name, JSON.stringify(arena.setup), file]
    const ending = await endingOf(path, args, line.limit ?? LIMIT)
    return { line: line.name, contestant: name, ...judge(line, { ...ending, report: reportIn(file) }) }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function endingOf(path: string, args: readonly string[], limit: number): Promise<Omit<Ending, 'report'>> {
  return new Promise((resolve, reject) => {
    // A process of a group of its own, so that the processes that it has started end with it.
    const child = spawn(path, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
      detached: true,
    })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-10_000)))
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      process.kill(-child.pid!, 'SIGKILL')
    }, limit)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, isLate, stderr })
    })
  })
}

/** The report that a process has written before its end, if it has. */
function reportIn(file: string): Report | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined
}
