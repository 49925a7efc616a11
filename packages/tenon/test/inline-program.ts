import { runtime } from '@tenon/core/internal'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Makes a directory that is removed after the test. */
export function temporary(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'tenon-inline-')))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A kernel that adds a number to each element. */
export function adding(count: number, name = 'add'): string {
  return `#include <tenon/kernel.h>
TN_KERNEL(${name}, "(x: f32[n]) -> (y: f32[n])") {
  const tn_xla_buffer_t *x = tn_xla_arg(in, 0, TN_XLA_F32, 1), *y = tn_xla_ret_like(in, 0, x);
  if (!tn_xla_complete(in)) return;
  const float *from = x->data;
  float *to = y->data;
  for (int64_t i = 0; i < tn_xla_element_count(x); i++) to[i] = from[i] + ${count};
}
`
}

/** The functions that the programs use. */
const prelude = `
import { tensor } from 'tenon'
import { compile, compileSync, loadInline } from 'tenon/build'
const adding = ${String(adding)}
`

/** A program in a process of its own. */
export interface Program {
  readonly child: ChildProcess
  readonly ended: Promise<{
    readonly code: number | null
    readonly signal: NodeJS.Signals | null
    readonly stdout: string
    readonly stderr: string
  }>
}

/** Starts a module that may use `tensor`, `compile`, `compileSync`, `loadInline` and `adding`. */
export function start(source: string, environment: NodeJS.ProcessEnv, user?: number): Program {
  const identity = user === undefined ? {} : { uid: user, gid: user }
  const child = spawn(process.execPath, runtime.moduleArguments([], prelude + source), {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, TENON_CACHE_DIR: undefined, XDG_CACHE_HOME: undefined, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...identity,
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Awaited<Program['ended']>>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return { child, ended }
}

/** Runs a module to its end. */
export function run(source: string, environment: NodeJS.ProcessEnv, user?: number): Program['ended'] {
  return start(source, environment, user).ended
}
