import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import type { Attempts, Outcome } from '../../attacks/attempt.ts'
import { runTenon } from '../../run-tenon.ts'

const here = dirname(fileURLToPath(import.meta.url))

/** The annotations of the functions in attack.h. */
const functions = {
  sum_slow: { count: 'length(values)', async: true },
  lookup: { return: 'status', count: 'length(keys)', out: 'results(keys)' },
  open_slow: { return: 'status', out: 'result', result: { handle: 'Cursor', within: 'store' }, async: true },
  text_huge: { length: 'length-of-result', return: 'text' },
  numbers_huge: { length: 'length-of-result' },
  fill_out: { return: 'status', out: { result: 'number' } },
  slow: { async: true },
  call_on_thread: { async: true, function: 'call' },
  text_size: { async: true },
  store_copy: { return: { handle: 'Loose', close: 'store_destroy', finalize: true } },
}

/** Compiles the library of attack.h in a directory in the package, and binds it. The caller removes the directory. */
export function bindAttacks(): string {
  const directory = mkdtempSync(join(here, '../module-'))
  const library = join(directory, 'libattack.so')
  const source = join(here, 'attack.c')
  execFileSync(process.env['CC'] ?? 'cc', ['-shared', '-fPIC', '-o', library, source, '-lm', '-lpthread'])
  const own = JSON.parse(readFileSync(join(here, '../store.json'), 'utf8')) as { functions: object; $schema?: string }
  delete own.$schema
  const annotations = join(directory, 'attack.json')
  writeFileSync(annotations, JSON.stringify({ ...own, functions: { ...own.functions, ...functions } }))
  const options = ['--library', library, '--annotations', annotations, '--output', 'attack']
  const { code, stderr } = runTenon(['bind', join(here, 'attack.h'), ...options], { cwd: directory })
  if (code !== 0) throw new Error(stderr)
  return directory
}

/** The names of attempts, and how they print what happens: codes of errors, and results. */
const prelude = (module: string): string => `
  import { Library } from 'tenon'
  import { MemorySegment, NativeScope, toCString } from 'tenon/scope'
  import { Handle, textOf } from 'tenon/scope/bind'
  import { setTimeout as sleep } from 'node:timers/promises'
  import { fileURLToPath } from 'node:url'
  import { Worker } from 'node:worker_threads'
  const url = ${JSON.stringify(module)}
  let count = 0
  // In Bun, only paths with another query are other modules.
  const load = () => import(fileURLToPath(url) + '?' + count++)
  const print = (error) => console.log(String(error?.code ?? error?.name ?? 'threw ' + typeof error))
  const show = (given) => console.log('gave ' + String(typeof given === 'object' && given ? given.constructor?.name : given).slice(0, 40))
  const attempt = (use) => { try { const given = use(); show(given); return given } catch (error) { print(error) } }
  const attemptLater = async (use) => { try { show(await use()) } catch (error) { print(error) } }
  const collect = async () => { for (let i = 0; i < 5; i++) { gc(); await sleep(2) } }
  /** A worker that runs a program with the module. */
  const started = (source) => {
    // Deno runs the text as a script.
    const names = 'import("node:worker_threads").then(async ({ parentPort }) => { const b = await import(' + JSON.stringify(url) + ');'
    const worker = new Worker(names + source + '})', { eval: true })
    worker.on('error', print)
    return worker
  }
  const lying = (target, key, value) => new Proxy(target, { get: (object, name) => (name === key ? value : Reflect.get(object, name, object)) })
`

/** Runs attempts in one process, each with a module of its own, which is isolated if `isIsolated`. */
export async function runAttacks(directory: string, attempts: Attempts, isIsolated = false): Promise<Outcome> {
  const setup = isIsolated
    ? `const b = await load(), own = await load(), w = await Library.isolate(b.library, { workers: 1, deadline: 5000 });`
    : 'const b = await load();'
  const end = isIsolated ? 'await w.closeAsync();' : ''
  const runs = Object.entries(attempts).map(
    ([name, [code]]) =>
      `console.log(${JSON.stringify(`# ${name}`)}); await (async () => {${setup}${code};\n${end}})();`,
  )
  const module = pathToFileURL(join(directory, 'attack/index.js')).href
  const { code, signal, timedOut, stdout, stderr } = await runScript(
    `${prelude(module)}${runs.join('\n')}\nawait collect(); console.log('# end')`,
    { cwd: directory, nodeOptions: [...packageFlags, '--expose-gc', '--no-warnings'], timeout: 60_000 },
  )
  const parts = stdout.split(/^# /m).slice(1)
  const results = parts.map((part) => part.trim().split('\n')).map(([name, ...lines]) => [name, lines.join(', ')])
  return { code, signal, timedOut, results: Object.fromEntries(results) as Record<string, string>, stderr }
}
