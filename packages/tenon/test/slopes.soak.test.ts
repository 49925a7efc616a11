import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { quarantine } from '@tenon/config/sanitizer'
import * as core from '@tenon/core'
import * as calls from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import * as packed from '@tenon/packed-func'
import * as pools from '../src/entries/pools.ts'
import * as scopes from '@tenon/scope'
import * as linker from '@tenon/scope/linker'
import * as tstring from '@tenon/tstring'
import { afterAll, describe, expect, test } from 'vitest'

const isSoak = process.env['TENON_SOAK'] === '1'
const ROUNDS = isSoak ? 5 : 3
/** Runs of an operation in a round: of one that takes less than a microsecond or so, and of the others. */
const CHEAP = isSoak ? 100_000 : 5000
const OTHER = isSoak ? 10_000 : 500

const MIB = 2 ** 20
/**
 * A leak adds memory in each round, so the round that adds the least counts. The engine and malloc keep some memory in any case.
 * At the full size, this is 20 bytes for a cheap operation, and 200 for another.
 */
const ALLOWED = 2 * MIB + quarantine

const nextTurn = promisify(setImmediate)
const folder = mkdtempSync(join(tmpdir(), 'tenon-slopes-'))
const file = join(folder, 'file.bin')
writeFileSync(file, Buffer.alloc(8192, 1))
const stringFile = join(folder, 'strings.bin')

const fixtures = scopes.ResourceScope.ofShared()
const kernels = core.NativeLibrary.open(kernelLibrary('kernels'))
const lookup = linker.SymbolLookup.ofProcess()
const strlen = linker.Linker.downcall(lookup.get('strlen'), { result: 'int32', parameters: ['pointer'] })
const qsort = linker.Linker.downcall(lookup.get('qsort'), {
  parameters: ['pointer', 'uint64', 'uint64', 'pointer'],
})
const comparison = { result: 'int32', parameters: ['pointer', 'pointer'] } as const
const numbers = fixtures.allocate(64, 8)
const module = packed.Module.open(kernelLibrary('packed'))
const [sum, echo, call, fail] = ['sum', 'echo', 'call', 'fail_as'].map((name) => module.get(name)) as [
  packed.PackedFunc,
  packed.PackedFunc,
  packed.PackedFunc,
  packed.PackedFunc,
]
const x = core.tensor('f32', [3], [-1, 0.5, 7])
const y = core.tensor('f32', [3])
const clip = calls.typedHandler(kernels, 'clip_v3')
const clipFunction = calls.customCall(kernels, 'clip_v3')
const attrs = { low: calls.f32(0), high: calls.f32(1) }
const prepared = clip.prepare({ operands: [x], results: [y], attrs })
const bound = prepared.bind([x], [y])
const strings = tstring.StringTensor.from(['a', 'a text that does not fit into an element', ''])
const words = Array.from({ length: 20 }, (_, i) => 'word '.repeat(i))
tstring.StringTensor.from(words, { layout: 'tflite' }).export(stringFile)

afterAll(async () => {
  bound.close()
  prepared.close()
  kernels.close()
  fixtures.close()
  rmSync(folder, { recursive: true })
})

/** Runs `use` with something that must be closed. */
function withOpen<T extends Disposable>(value: T, use: (value: T) => unknown): void {
  using open = value
  use(open)
}

function ignoreErrors(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof core.TenonError)) throw error
  }
}

const cheap: Readonly<Record<string, (i: number) => unknown>> = {
  'native calls with a segment': () => strlen(numbers),
  'packed calls with numbers': (i) => sum(i, 1.5),
  'packed calls with text': (i) => echo(words[i % 20]!),
  'packed calls with a tensor': () => echo(x),
  'packed calls of a TypeScript function': (i) => call((value: number) => value + i, i),
  'custom calls, prepared': () => prepared.run([x], [y]),
  'custom calls, bound': () => bound.run(),
  'scopes with memory': () => withOpen(scopes.NativeScope.ofConfined(), (scope) => scope.allocate(16)),
  'C strings': () => withOpen(scopes.NativeScope.ofConfined(), (scope) => scopes.toCString('some text', scope)),
  'slices of memory': () => numbers.asSlice(8, 16).asReadOnly(),
  tensors: (i) => core.tensor('f32', [3], [i, 2, 3]),
  'reading strings': (i) => strings.get(i % 3),
  'failing packed calls': () => fail.tryCall('KeyError'),
}

const others: Readonly<Record<string, (i: number) => unknown>> = {
  'native functions that are declared and dropped': () =>
    linker.Linker.downcall(lookup.get('strlen'), { result: 'int32', parameters: ['pointer'] }),
  'libraries that are opened and closed': () => withOpen(core.NativeLibrary.open(kernelLibrary('kernels')), () => 0),
  'stubs, and calls of them': () =>
    withOpen(scopes.ResourceScope.ofConfined(), (scope) =>
      qsort(
        numbers,
        4n,
        4n,
        linker.upcallStub(() => 0, comparison, scope),
      ),
    ),
  'confined scopes': () =>
    withOpen(scopes.ResourceScope.ofConfined(), (scope) => scopes.MemorySegment.allocateNative(5000, 16, scope)),
  'shared scopes': () => withOpen(scopes.ResourceScope.ofShared(), (scope) => scope.allocate(5000)),
  'mapped files': () =>
    withOpen(scopes.ResourceScope.ofConfined(), (scope) => scopes.MemorySegment.mapFile(file, scope).getInt8(1)),
  'memory of the garbage collector': () => core.gcAllocator.allocate(4096),
  'custom calls that are prepared and closed': () =>
    withOpen(clip.prepare({ operands: [x], results: [y], attrs }), (made) => made.run([x], [y])),
  'custom calls as functions': () => clipFunction([x], { results: [y], attrs }),
  'custom calls that are refused': () => ignoreErrors(() => clipFunction([x], { results: [y], attrs: {} })),
  'asynchronous custom calls': () => prepared.runAsync([x], [y]),
  'asynchronous packed calls': (i) => sum.async(i, 1),
  'packed functions that are kept and released': () => {
    module.get('keep')(packed.packedFunc(() => 1))
    return module.get('keep')(null)
  },
  'packed containers': (i) => (echo([i, 'text', [1]]) as packed.NativeArray).close(),
  'packed calls that throw': () => ignoreErrors(() => fail('ValueError')),
  'string tensors': () => tstring.StringTensor.from(words).toArray(),
  'string tensors that are converted': () => tstring.StringTensor.from(words).to('tflite'),
  'string tensors of malloc blocks': () =>
    withOpen(tstring.StringTensor.from(words).to('tf', { storage: 'malloc' }), (made) =>
      made.set(0, 'a text that does not fit into an element'),
    ),
  'mapped string tensors': () => withOpen(tstring.StringTensor.open(stringFile), (open) => open.get(7)),
  pools: () => withOpen(pools.createPool(4096), (pool) => pool.slice(0, 8)),
  fences: () => withOpen(pools.createFence(), (source) => source.fence[Symbol.dispose]()),
}

/** The memory of the process outside the heap of the engine, and on it, once nothing more is released. */
async function memory(): Promise<[native: number, heap: number]> {
  for (let i = 0; i < 3; i++) {
    await nextTurn()
    globalThis.gc!()
  }
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  return [rss - heapTotal, heapUsed]
}

/** Returns the bytes that each round added, on the side that grew more. */
async function growths(count: number, run: (i: number) => unknown): Promise<number[]> {
  const round = async (): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const result = run(i)
      if (result instanceof Promise) await result
      // Finalizers run between turns.
      else if (i % 1000 === 999) await nextTurn()
    }
  }
  await round()
  const added: number[] = []
  let before = await memory()
  for (let i = 0; i < ROUNDS; i++) {
    await round()
    const after = await memory()
    added.push(Math.max(after[0] - before[0], after[1] - before[1]))
    before = after
  }
  return added
}

describe.each([
  [CHEAP, cheap],
  [OTHER, others],
] as const)(`memory does not grow over ${ROUNDS} rounds of %i`, (count, operations) => {
  test.each(Object.entries(operations))('%s', { timeout: isSoak ? 600_000 : 60_000 }, async (name, run) => {
    const added = await growths(count, run)
    if (isSoak) console.log(`${name}: ${added.map((bytes) => (bytes / MIB).toFixed(1)).join(' ')} MiB`)
    expect(Math.min(...added)).toBeLessThan(ALLOWED)
  })
})
