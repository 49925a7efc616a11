import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageFlags } from '@tenon/config/package-flags'
import { runtime } from '@tenon/core/internal'
import { runScript } from '@tenon/core/testing'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, expect, test } from 'vitest'

const directory = mkdtempSync(join(tmpdir(), 'tenon-profiles-'))
afterAll(() => rmSync(directory, { recursive: true }))

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
  }[]
  readonly samples: readonly number[]
}

/** Calls of each convention, each for 50 ms. */
const program = `
  import { f32, Library, tensor } from 'tenon'
  const path = ${JSON.stringify(kernelLibrary('kernels'))}
  const signature = '(x: f32[n, d]) -> (y: f32[n, d]); eps: f32 = 1e-5'
  const library = Library.open(path)
  const packed = Library.open(${JSON.stringify(kernelLibrary('packed'))})
  const libc = Library.open('libc.so.6')
  const isolated = await Library.isolate(path)
  const [big, other] = [tensor('f32', [256, 256]), tensor('f32', [256, 256])]
  const kernel = library.kernel('rms_norm', { signature })
  const remote = isolated.kernel('softmax', { signature: '(x: f32[n, d]) -> (y: f32[n, d]); temperature: f32 = 1' })
  const move = libc.function('memmove', { result: 'void', parameters: ['pointer', 'pointer', 'uint64'] })
  const text = libc.function('strlen', { result: 'uint64', parameters: ['text'] })
  const sum = packed.packed('sum')
  const long = 'x'.repeat(20_000)
  const calls = [() => kernel(big), () => move(other, big, 262144n), () => text(long), () => sum(1, 2), () => remote(big)]
  for (const call of calls) for (const end = Date.now() + 50; Date.now() < end;) call()
  await isolated.closeAsync()
`

async function profile(...flags: string[]): Promise<Map<string, number>> {
  const own = mkdtempSync(join(directory, 'run-'))
  const { code, stderr } = await runScript(program, {
    cwd: join(import.meta.dirname, '..'),
    nodeOptions: [...packageFlags, '--cpu-prof', '--cpu-prof-interval', '200', `--cpu-prof-dir=${own}`, ...flags],
  })
  expect([code, stderr]).toEqual([0, ''])
  const [file] = readdirSync(own)
  const { nodes, samples } = JSON.parse(readFileSync(join(own, file!), 'utf8')) as Profile
  const names = new Map(
    nodes.map(({ id, callFrame }) => [id, callFrame.url === 'tenon:kernels' ? callFrame.functionName : '']),
  )
  const counts = new Map<string, number>()
  for (const name of names.values()) counts.set(name, 0)
  for (const id of samples) counts.set(names.get(id)!, (counts.get(names.get(id)!) ?? 0) + 1)
  return counts
}

test.each([
  ['', []],
  [' without code from strings', ['--disallow-code-generation-from-strings']],
])('--cpu-prof has the native time of each kernel and function under its name%s', async (_, flags) => {
  const counts = await profile(...flags)
  for (const name of ['rms_norm', 'memmove', 'strlen', 'sum'])
    expect([name, (counts.get(name) ?? 0) > 0]).toEqual([name, true])
  // The time of an isolated kernel is that of the functions that wait for the worker.
  expect(counts.has('softmax')).toBe(true)
})

/** Makes stubs, and functions of JavaScript before and after. Prints the id of the process and the addresses of two stubs. */
const stubs = `
  import { Library } from 'tenon'
  import { FunctionTarget } from 'tenon/custom-call'
  import { ResourceScope } from 'tenon/scope'
  import { upcallStub } from 'tenon/scope/linker'
  const scope = ResourceScope.ofConfined()
  const compare = { 'a\\nb': (a) => a }['a\\nb']
  const addresses = [upcallStub(compare, { result: 'int32', parameters: ['int32'] }, scope).address]
  const target = FunctionTarget.open('double', '(x: f32[2]) -> (y: f32[2])', () => {})
  addresses.push(target.address)
  for (let i = 0; i < 5000; i++) {
    upcallStub(() => 0, { result: 'int32', parameters: [] }, scope)
    if (i % 1000 === 0) new Function('return function lastOnes' + i + '() { return ' + i + ' }')()()
  }
  function finalOne() { return 1 }
  finalOne()
  scope.close()
  target.close()
  console.log([process.pid, ...addresses].join(' '))
`

if (process.platform === 'linux' && runtime.name === 'Node.js') {
  test.each(['--perf-basic-prof', '--perf-prof'])(
    'the map of %s for perf names stubs, and all of its lines are whole',
    async (flag) => {
      // V8 writes the file for perf inject to the working directory.
      const cwd = mkdtempSync(join(directory, 'perf-'))
      mkdirSync(join(cwd, 'node_modules'))
      symlinkSync(join(import.meta.dirname, '..'), join(cwd, 'node_modules/tenon'))
      const { code, stdout, stderr } = await runScript(stubs, { cwd, nodeOptions: [...packageFlags, flag] })
      expect([code, stderr]).toEqual([0, ''])
      const [pid, ...addresses] = stdout.trim().split(' ')
      const path = `/tmp/perf-${pid}.map`
      const text = readFileSync(path, 'utf8')
      rmSync(path)
      const lines = text.trimEnd().split('\n')
      const entries = new Map<bigint, string>()
      for (const line of lines) {
        const [, start, size, name] = /^([0-9a-f]+) ([0-9a-f]+) (\S.*)$/.exec(line) ?? []
        expect([line, Number.parseInt(size ?? '0', 16) > 0]).toEqual([line, true])
        entries.set(BigInt(`0x${start}`), name!)
      }
      expect(addresses.map((address) => entries.get(BigInt(address)))).toEqual(['stub a?b', 'stub double'])
      expect([...entries.values()].filter((name) => name === 'stub (anonymous)')).toHaveLength(5000)
      // The lines that V8 wrote before, between and after those of the stubs are there, too.
      const names = [...entries.values()].join('\n')
      if (flag === '--perf-basic-prof')
        for (const name of ['lastOnes0', 'lastOnes4000', 'finalOne']) expect(names).toContain(name)
    },
  )
}
