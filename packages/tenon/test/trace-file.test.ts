import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asScript } from '@tenon/config/as-script'
import { packageFlags } from '@tenon/config/package-flags'
import { runtime } from '@tenon/core/internal'
import { runScript, type ScriptResult } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, expect, test } from 'vitest'

const directory = mkdtempSync(join(tmpdir(), 'tenon-trace-'))
afterAll(() => rmSync(directory, { recursive: true }))

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly cat?: string
  readonly ts: number
  readonly dur: number
  readonly pid: number
  readonly tid: number
  readonly id?: string
  readonly args: Readonly<Record<string, unknown>>
}

/** Reads a trace, and checks the rules of the format for its events. The array of the events has no end. */
function eventsOf(path: string): TraceEvent[] {
  const events = JSON.parse(`${readFileSync(path, 'utf8')}]`) as TraceEvent[]
  for (const { name, ph, ts, dur, pid, tid, id, args } of events) {
    expect([typeof name, Number.isInteger(pid), Number.isInteger(tid)]).toEqual(['string', true, true])
    expect(['M', 'X', 'b', 'e']).toContain(ph)
    if (ph === 'M') expect([/^(process|thread)_name$/.test(name), typeof args['name']]).toEqual([true, 'string'])
    else expect(Number.isFinite(ts) && ts > 0).toBe(true)
    if (ph === 'X') expect(dur).toBeGreaterThan(0)
    if (ph === 'b' || ph === 'e') expect(typeof id).toBe('string')
  }
  const keys = (phase: string): string[] =>
    events.filter(({ ph }) => ph === phase).map(({ cat, id, name }) => `${cat} ${id} ${name}`)
  expect(keys('b').toSorted()).toEqual(keys('e').toSorted())
  const slices = events.filter(({ ph }) => ph === 'X')
  for (const track of new Set(slices.map(({ pid, tid }) => `${pid}:${tid}`)))
    expectNesting(slices.filter(({ pid, tid }) => `${pid}:${tid}` === track))
  return events
}

/** Checks that the slices of a track do not overlap, unless one contains the other. Times are numbers with fractions of 1/64 us. */
function expectNesting(slices: readonly TraceEvent[]): void {
  const open: number[] = []
  for (const { ts, dur } of slices.toSorted((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    while (open.length > 0 && open.at(-1)! <= ts + 0.05) open.pop()
    if (open.length > 0) expect(ts + dur).toBeLessThanOrEqual(open.at(-1)! + 0.05)
    open.push(ts + dur)
  }
}

/** The text of a module that opens a kernel, and then runs statements. */
const program = (statements: string): string => `
  import { Worker, isMainThread } from 'node:worker_threads'
  import { Library, tensor } from 'tenon'
  const path = ${JSON.stringify(kernelLibrary('kernels'))}
  const signature = '(x: f32[n, d]) -> (y: f32[n, d]); eps: f32 = 1e-5'
  const library = Library.open(path)
  const kernel = library.kernel('rms_norm', { signature })
  const x = tensor([[1, 2, 3, 4]])
  ${statements}
`

const run = (statements: string, path: string, env: Record<string, string> = {}): Promise<ScriptResult> =>
  runScript(program(statements), {
    cwd: join(import.meta.dirname, '..'),
    nodeOptions: packageFlags,
    env: { TENON_TRACE: path, ...env },
  })

test('TENON_TRACE writes an event for each synchronous call, and a begin and an end for each asynchronous one', async () => {
  const path = join(directory, 'calls.json')
  const { code, stderr } = await run('kernel(x); await kernel.async(x)', path)
  expect([code, stderr]).toEqual([0, ''])
  const [thread, call, begin, ...others] = eventsOf(path)
  const end = others.pop()
  expect(thread).toMatchObject({ name: 'thread_name', ph: 'M', tid: 0, args: { name: 'main' } })
  expect(call).toMatchObject({ name: 'rms_norm', cat: 'typed', ph: 'X', pid: thread!.pid, tid: 0 })
  expect(call!.args).toEqual({ types: 'float32[1, 4]', copiedBytes: 0 })
  expect(call!.dur).toBeGreaterThan(0)
  expect([begin!.ph, end!.ph, begin!.id]).toEqual(['b', 'e', end!.id])
  expect(begin!.ts).toBeGreaterThanOrEqual(call!.ts + call!.dur)
  expect(end!.ts).toBeGreaterThan(begin!.ts)
  // The time for which the asynchronous call waited for a thread.
  expect(others.map(({ name, ph, id }) => [name, ph, id])).toEqual([
    ['queue', 'b', begin!.id],
    ['queue', 'e', begin!.id],
  ])
  expect(others.map(({ ts }) => ts >= begin!.ts && ts <= end!.ts)).toEqual([true, true])
})

test('TENON_TRACE writes the time in the queue, and the run as an event of the worker', async () => {
  const path = join(directory, 'isolated.json')
  const statements = `
    const isolated = await Library.isolate(path)
    const one = isolated.kernel('rms_norm', { signature })
    for (let i = 0; i < 10; i++) one(x)
    const big = tensor('f32', [100, 1000])
    const calls = Array.from({ length: 20 }, () => one.async(big))
    // The answers of all calls are there when the event loop goes on.
    for (const end = Date.now() + 50; Date.now() < end;);
    await Promise.all(calls)
    await isolated.closeAsync()
  `
  const { code, stderr } = await run(statements, path)
  expect([code, stderr]).toEqual([0, ''])
  const events = eventsOf(path)
  const [{ pid }] = events as [TraceEvent]
  const worker = events.find(({ name }) => name === 'process_name')
  expect(worker!.args).toEqual({ name: `worker of ${pid}` })
  const runs = events.filter(({ ph, pid: process }) => ph === 'X' && process === worker!.pid)
  expect(runs.map(({ name }) => name)).toEqual(Array.from({ length: 30 }, () => 'rms_norm'))
  for (let i = 1; i < runs.length; i++) expect(runs[i]!.ts).toBeGreaterThanOrEqual(runs[i - 1]!.ts)
  const queues = events.filter(({ name }) => name === 'queue')
  const phases = [...Array<string>(20).fill('b'), ...Array<string>(20).fill('e')]
  expect(
    queues
      .map(({ ph }) => ph)
      .filter((ph) => ph !== 'X')
      .toSorted(),
  ).toEqual(phases)
  const call = events.find(({ ph, name }) => ph === 'X' && name === 'rms_norm')!
  expect(runs[0]!.ts).toBeGreaterThanOrEqual(call.ts)
  expect(runs[0]!.ts + runs[0]!.dur).toBeLessThanOrEqual(call.ts + call.dur)
})

test('TENON_TRACE names the threads, which write to one file', async () => {
  const path = join(directory, 'threads.json')
  const source = JSON.stringify(asScript(program('kernel(x)')))
  const statements = `
    kernel(x)
    const workers = [1, 2].map(() => new Worker(${source}, { eval: true }))
    await Promise.all(workers.map((worker) => new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject))))
  `
  const { code, stderr } = await run(statements, path)
  expect([code, stderr]).toEqual([0, ''])
  const events = eventsOf(path)
  const calls = events.filter(({ ph }) => ph === 'X')
  expect(new Set(calls.map(({ tid }) => tid)).size).toBe(3)
  const names = events.filter(({ name }) => name === 'thread_name').map(({ args }) => args['name'])
  expect(names.toSorted()).toEqual(['main', 'worker thread 1', 'worker thread 2'])
  expect(new Set(events.map(({ pid }) => pid)).size).toBe(1)
})

test('TENON_TRACE gives a child process a file of its own', async () => {
  const path = join(directory, 'parent.json')
  const statements = `
    kernel(x)
    if (process.env.IS_CHILD !== '1') {
      const { execFileSync } = await import('node:child_process')
      execFileSync(process.execPath, ${JSON.stringify(runtime.moduleArguments(packageFlags, program('kernel(x)')))}, {
        env: { ...process.env, IS_CHILD: '1' },
        stdio: 'inherit',
      })
    }
  `
  const { code, stderr } = await run(statements, path)
  expect([code, stderr]).toEqual([0, ''])
  const files = readdirSync(directory).filter((name) => /^parent\.\d+\.json$/.test(name))
  expect(files).toHaveLength(1)
  for (const file of ['parent.json', files[0]!]) {
    const events = eventsOf(join(directory, file))
    expect(events.filter(({ ph }) => ph === 'X')).toHaveLength(1)
  }
})

test('the file of TENON_TRACE is valid after a crash, and has the calls that were written before', async () => {
  const path = join(directory, 'crash.json')
  const statements = `
    for (let i = 0; i < 2000; i++) kernel(x)
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => setInterval(() => {}, 1000))
  `
  const { signal } = await run(statements, path)
  expect(signal).toBe('SIGKILL')
  expect(eventsOf(path).filter(({ ph }) => ph === 'X').length).toBeGreaterThan(100)
})

test('a path of TENON_TRACE that cannot be written is one warning, and calls run', async () => {
  const path = join(directory, 'missing', 'trace.json')
  const { code, stdout, stderr } = await run('kernel(x); console.log(kernel(x).shape)', path)
  expect([code, stdout]).toEqual([0, '[ 1, 4 ]\n'])
  expect(stderr.match(/TenonWarning/g)).toHaveLength(1)
  expect(stderr).toContain(`Calls are no longer traced to ${path}, the file of TENON_TRACE: ENOENT`)
  expect(existsSync(path)).toBe(false)
})

test('an error of a call is in its event by the name of its class, without operands', async () => {
  const path = join(directory, 'errors.json')
  const { code } = await run('try { kernel(x, { eps: 1 }); library.close(); kernel(x) } catch {}', path)
  expect(code).toBe(0)
  const text = readFileSync(path, 'utf8')
  expect(eventsOf(path).filter(({ ph }) => ph === 'X')).toHaveLength(1)
  expect(text).not.toContain('[1, 2, 3, 4]')
})
