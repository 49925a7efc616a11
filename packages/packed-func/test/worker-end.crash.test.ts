import { fileURLToPath } from 'node:url'
import { packageFlags, sourceFlags } from '@tenon/config/package-flags'
import { quarantine } from '@tenon/config/sanitizer'
import { expect, it } from 'vitest'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { isOwnLibrary } from './support.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const [objects, basics] = ['packed_objects', 'packed'].map((name) => JSON.stringify(kernelLibrary(name)))
const isSoak = process.env['TENON_SOAK'] === '1'

/** The names that a program and its workers use. */
const names = `
  const p = await import('@tenon/packed-func')
  const { tensor } = await import('@tenon/core')
  const lib = p.Module.open(${basics})
  p.Module.open(${objects})
  const { Point, Node } = p.types('fixture')
  const { parentPort, Worker, workerData } = await import('node:worker_threads')
  const [echo, call, makeRange, failAs] = ['echo', 'call', 'make_range', 'fail_as'].map((name) => lib.get(name))
  globalThis.kept = []
  const keep = (...values) => void globalThis.kept.push(...values)
  const ready = () => parentPort.postMessage(0)`

/** Runs a program in a new process, which must end without an error, and returns its output. */
async function outputOf(body: string, env: Record<string, string> = {}, flags = packageFlags): Promise<string> {
  const source = `${names}
    const run = (code, end) => new Promise((resolve, reject) => {
      const worker = new Worker('(async () => {' + ${JSON.stringify(names)} + ';' + code + '})()', { eval: true, execArgv: ${JSON.stringify(flags)} })
      worker.on('error', reject).on('exit', resolve).on('message', () => end?.(worker))
    })
    const live = p.getGlobal('fixture.live')
    const { libraryFunctions } = await import('@tenon/core/internal')
    const library = ${isOwnLibrary} ? libraryFunctions('tvm_ffi') : undefined
    /** The live objects of the fixture, and those of libtvm_ffi. */
    const counts = () => [live(), Number(library?.tn_tvm_live_objects() ?? 0)]
    ${body}`
  const nodeOptions = [...flags, '--no-warnings', '--expose-gc']
  const { code, signal, stdout, stderr } = await runScript(source, { cwd: root, nodeOptions, env, timeout: 600_000 })
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  return stdout.trim()
}

/** What a worker holds when it ends: objects of each kind. */
const HOLD = `
  for (let i = 0; i < 500; i++) keep(new Point(i), echo([i]), new Node(i, echo([i])))
  for (let i = 0; i < 20; i++) {
    keep(p.packedFunc(() => i), makeRange(64), p.Module.open(${basics}), lib.get('sum'), echo(tensor('float32', [4])), echo(new Map([[1, 2]])))
    try { failAs('ValueError') } catch (error) { keep(error) }
    const mine = tensor('float32', [2])
    echo(mine)
    keep(mine, p.rvalue(echo([1])))
  }`

/** The ways in which a worker ends: its code after {@link HOLD}, and what the main thread does then. */
const ENDS: Readonly<Record<string, readonly [code: string, end: string]>> = {
  'ends by itself': ['', 'undefined'],
  'calls process.exit()': ['process.exit(0)', 'undefined'],
  'calls process.exit() in a function that native code calls': ['call(() => process.exit(0))', 'undefined'],
  'is terminated': ['setInterval(() => {}, 1000); ready()', '(worker) => worker.terminate()'],
  'is terminated in a loop of calls': [
    'ready(); for (;;) { const point = new Point(1); point.countArgs(); point.close(); echo([1]).close() }',
    '(worker) => worker.terminate()',
  ],
  'is terminated in a function that native code calls': [
    'call(() => { ready(); for (;;); })',
    '(worker) => worker.terminate()',
  ],
}

it.each(Object.entries(ENDS))('a worker that %s releases its objects', { timeout: 60_000 }, async (_, [code, end]) => {
  const output = await outputOf(
    `const once = () => run(${JSON.stringify(HOLD + code)}, ${end})
     await once()
     const before = counts()
     for (let i = 0; i < 3; i++) await once()
     console.log(JSON.stringify(counts().map((count, i) => count - before[i])))`,
  )
  const grown = JSON.parse(output) as number[]
  // A call in progress keeps what it made for itself: the function that is its argument, or its result.
  const most = /call\(|for \(;;/.test(code) ? 10 : 0
  expect(grown[0]).toBeLessThanOrEqual(most)
  expect(grown[1]).toBeLessThanOrEqual(most)
})

it('a worker releases each object once', async () => {
  const output = await outputOf(
    `const shared = new Node(1, null)
     p.registerGlobal('test.shared', () => shared)
     await run(\`const list = []
       for (let i = 0; i < 3000; i++) list.push(new Point(i))
       for (let i = 0; i < 3000; i += 3) list[i].close()
       for (let i = 1; i < 3000; i += 3) list[i] = undefined
       gc()
       await new Promise((resolve) => setTimeout(resolve, 20))
       for (let i = 0; i < 2000; i++) list.push(new Point(i))
       call((x) => { x.close(); for (let i = 0; i < 10; i++) echo(p.rvalue(list.at(-1))).close(), list.pop() }, new Point(1))
       keep(list)\`)
     console.log(live(), shared.isAlive)`,
  )
  expect(output).toBe('1 true')
})

it('a destructor that calls a function of the ending worker gets an error', async () => {
  const output = await outputOf(
    `const before = counts()
     for (let i = 0; i < 3; i++) await run(\`
       const { ending } = await import(${JSON.stringify(new URL('./stub-function.ts', import.meta.url).href)})
       const list = p.getGlobal('ffi.List')()
       const back = p.packedFunc(() => list.size)
       for (let i = 0; i < 50; i++) keep(ending(() => back()), p.packedFunc(() => list), echo([p.packedFunc(() => back)]))
       keep(list, back)\`)
     console.log(JSON.stringify(counts().map((count, i) => count - before[i])))`,
    {},
    sourceFlags,
  )
  // The garbage collector may find objects of the main thread meanwhile.
  expect((JSON.parse(output) as number[]).map((count) => Math.max(count, 0))).toEqual([0, 0])
})

it('objects that native code holds stay after the worker that made them', async () => {
  const output = await outputOf(
    `await run("lib.get('keep')(new Point(7))")
     const kept = lib.get('kept')()
     console.log(live(), kept.x)`,
  )
  expect(output).toBe('1 7')
})

it(`${isSoak ? 1000 : 20} workers leave no memory`, { timeout: 700_000 }, async () => {
  const rounds = isSoak ? 1000 : 20
  const output = await outputOf(
    `const once = () => run('for (let i = 0; i < 5000; i++) keep(new Point(i), echo([i]))')
     const rounds = ${rounds}
     for (let i = 0; i < rounds / 4; i++) await once()
     const before = counts(), start = process.memoryUsage().rss
     for (let i = 0; i < rounds; i++) await once()
     console.log(JSON.stringify([...counts().map((count, i) => count - before[i]), process.memoryUsage().rss - start]))`,
  )
  const [points, all, growth] = JSON.parse(output) as number[]
  // The garbage collector may find objects of the main thread meanwhile.
  expect([points, isOwnLibrary ? Math.max(all!, 0) : 0]).toEqual([0, 0])
  // The objects of one worker take some 750 KiB. The resident memory of the process varies by several MiB.
  expect(growth).toBeLessThan(500_000 * rounds + quarantine)
})
