import { asScript } from '@tenon/config/as-script'
import { sourceFlags } from '@tenon/config/package-flags'
import { kernelLibrary } from '@tenon/kernels'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { attempts, endless, ends } from './hostile-attempts.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** What the attempts use. Workers evaluate it too. */
const prelude = `
  import { tensor, Tensor } from '@tenon/core'
  const P = await import(${at('../src/index.ts')})
  const { ending, stubFunction } = await import(${at('./stub-function.ts')})
  const { accept, callLegacy, fromDLPack, getGlobal, initApi, legacyFunc, Module, OpaquePointer, packedFunc } = P
  const { registerGlobal, removeGlobal, rvalue, shape, t, tensorView, toDLPack, typedFunc } = P
  const [PACKED, GREETING, THROWING] = ${JSON.stringify(['packed', 'packed_cpp', 'packed_throwing'].map(kernelLibrary))}
  const lib = Module.open(PACKED)
  const names = ['add_one', 'call', 'call_on_thread', 'drop_on_thread', 'echo', 'fail_as', 'keep', 'kept', 'make_range', 'move_in',
    'nothing', 'read_after', 'references', 'sum', 'sum_in_parallel', 'type_index', 'wait_for_signal']
  const K = Object.fromEntries(names.map((name) => [name, lib.get(name)]))
  K.throw_in_task = Module.open(THROWING).get('throw_in_task')
  const G = (name) => getGlobal('ffi.' + name)
  const tick = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
`

async function run(body: string): Promise<ScriptResult> {
  const nodeOptions = [...sourceFlags, '--no-warnings', '--expose-gc']
  return runScript(prelude + body, { cwd: root, nodeOptions, timeout: 60_000 })
}

/** Runs attempts one after another. After each, the package must still work. Prints the attempt that did not end well. */
const script = (group: Readonly<Record<string, string>>): string => `
  const works = () => K.sum(1, 2) === 3 && K.echo('text that is long') === 'text that is long' && K.call((x) => x, 5) === 5
  const run = async (name, attempt) => {
    console.log(name)
    try { await attempt() } catch {}
    if (!works()) throw new Error('broken')
  }
  ${Object.entries(group)
    .map(([name, body]) => `await run(${JSON.stringify(name)}, async () => { ${body} })`)
    .join('\n  ')}
  gc(); await tick(10); gc()
  console.log('all ended')
  process.exit()`

describe.concurrent('attempts to crash or hang the process end well', () => {
  it.each(Object.entries(attempts))('with %s', async (_, group) => {
    const { code, signal, timedOut, stdout, stderr } = await run(script(group))
    const last = stdout.trim().split('\n').at(-1)
    expect({ code, signal, timedOut, last, stderr }).toEqual({
      code: 0,
      signal: null,
      timedOut: false,
      last: 'all ended',
      stderr: '',
    })
  })
})

describe.concurrent('the process ends in order', () => {
  it.each(ends)('with %s', async (body, expected) => {
    const { code, signal, timedOut } = await run(body)
    expect({ code, signal, timedOut }).toEqual({ code: expected, signal: null, timedOut: false })
  })
})

it('workers can be terminated at any moment', { timeout: 90_000 }, async () => {
  const source = (body: string): string =>
    JSON.stringify(
      asScript(`import { parentPort } from 'node:worker_threads'\n${prelude}
    parentPort.postMessage('running')\n${body}`),
    )
  const { code, signal, timedOut, stdout, stderr } = await run(`
    const { Worker } = await import('node:worker_threads')
    for (const source of [${endless.map(source).join(',')}]) {
      const worker = new Worker(source, { eval: true })
      await new Promise((resolve) => worker.once('message', resolve))
      await tick(Math.random() * 30)
      await worker.terminate()
    }
    console.log('all ended')`)
  expect({ code, signal, timedOut, stdout, stderr }).toEqual({
    code: 0,
    signal: null,
    timedOut: false,
    stdout: 'all ended\n',
    stderr: '',
  })
})
