import { quarantine } from '@tenon/config/sanitizer'
import { describe, expect, it } from 'vitest'
import { liveCallbacks } from '@tenon/core/internal'
import { tensor, type Tensor } from '@tenon/core'
import {
  accept,
  fromDLPack,
  legacyFunc,
  type NativeArray,
  type PackedFunc,
  packedFunc,
  rvalue,
  t,
  toDLPack,
  typedFunc,
} from '../src/index.ts'
import { collect, collectAll, isOwnLibrary, kernel, live } from './support.ts'

/** The number of rounds: a million with `pnpm soak`. */
const isSoak = process.env['TENON_SOAK'] === '1'
const rounds = isSoak ? 1_000_000 : 1500

/** The time limit of a test, in milliseconds. */
const timeout = isSoak ? 4 * 3600 * 1000 : 120_000

const MEBIBYTE = 2 ** 20

/**
 * The growth that a leak of a hundred bytes in each round would exceed at the full size. The collector and malloc keep some
 * memory in any case.
 */
const ALLOWED = 80 * MEBIBYTE + quarantine

/** The bytes of live objects, of the process, and of the process without the JavaScript heap. */
function memory(): { heap: number; all: number; native: number } {
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  return { heap: heapUsed, all: rss, native: rss - heapTotal }
}

const call = kernel('call')
const echo = kernel('echo')
const failAs = kernel('fail_as')
const sum = kernel('sum')
const addOne = kernel('add_one')
const makeRange = kernel('make_range')
const typedSum = sum.typed([t.float, t.int32], t.float)
const words = ['short', 'a text that is longer than seven bytes', 'with \0 in it, also longer', 'x'.repeat(20_000)]
const shared = tensor('float32', [4], [1, 2, 3, 4])
const close = (x: Tensor): void => (x.segment.lifetime as unknown as Disposable)[Symbol.dispose]()

const convert = typedFunc([accept.int, accept.str], (i, text) => `${i} ${text}`)

/** Actions with kernels of TVM to 0.20. */
function legacyActions(): Readonly<Record<string, (i: number) => unknown>> {
  const load = (name: string, library: string): PackedFunc => kernel(name, `packed_legacy_${library}`)
  const sources = ['NDArray', 'runtime.String', 'bytes', 'PackedFunc', 'str', 'DLTensor*']
  const read = legacyFunc((args, rv) => rv.set(args.length))
  const refuse = legacyFunc((args) => void args.at(0).as('DLDevice'))
  return {
    'calls of TVM to 0.20': (i) => load('__tvm_main__', 'c')(i, 1),
    'functions of TVM to 0.20': (i) => (load('make_twice', 'c')(i) as PackedFunc).close(),
    'arguments of TVM to 0.20': (i) => load('pass', 'sources')(sources[i % 6]!, read),
    'errors of TVM to 0.20': (i) => load('pass', 'sources').tryCall(sources[i % 6]!, refuse),
  }
}

const actions: Readonly<Record<string, (i: number) => unknown>> = {
  'calls with numbers': (i) => sum(i, 1.5, true, BigInt(i)),
  'typed calls': (i) => typedSum(i, 1),
  'calls back': (i) => call((x: number) => x + 1, i),
  'functions that are kept and released': (i) => kernel('keep')(packedFunc(() => i)),
  'errors of native code': () => failAs.tryCall('KeyError'),
  'errors of native code that are thrown': () => {
    try {
      failAs('ValueError')
    } catch {
      // expected
    }
  },
  'errors of JavaScript that cross': () =>
    call.tryCall(() => {
      throw new RangeError('across', { cause: new Error('deeper') })
    }),
  'arguments that are refused': () => {
    try {
      sum('x', [1, Symbol('x') as never])
    } catch {
      // expected
    }
  },
  strings: (i) => echo(words[i % 3]!),
  bytes: () => echo(new Uint8Array(40)),
  'borrowed tensors': () => addOne(shared, shared),
  'tensors of JavaScript': () => echo(tensor('float32', [4])),
  'tensors that kernels make': () => close(makeRange(16) as Tensor),
  'tensors through DLPack': () => close(fromDLPack(toDLPack(shared)) as Tensor),
  containers: (i) => (echo([i, 'a text of its own', [1]]) as NativeArray).close(),
  'functions that convert their arguments': (i) => call(convert, i, words[i % 3]!),
  ...(isOwnLibrary ? legacyActions() : {}),
  'objects that are moved': () => kernel('move_in')(rvalue(echo([1]) as NativeArray)),
}

/** A condition that ends {@link collect} after one collection. */
function oneMore(): () => boolean {
  let collections = 0
  return () => collections++ > 0
}

describe(`${rounds} times`, () => {
  it.each(Object.entries(actions))('%s leak nothing', { timeout }, async (_, act) => {
    const run = async (from: number, to: number): Promise<void> => {
      for (let i = from; i < to; i++) {
        act(i)
        // Objects are released between turns of the event loop, and the collector does not count their native memory.
        if (i % 10_000 === 9999) await collect(oneMore())
        else if (i % 2000 === 1999) await new Promise((resolve) => setImmediate(resolve))
      }
      kernel('keep')(null)
    }
    await run(0, 500)
    await collectAll()
    const before = { ...live(), callbacks: liveCallbacks(), memory: memory() }
    await run(500, rounds)
    const more = (): number[] => {
      const now = { ...live(), callbacks: liveCallbacks() }
      return [
        now.native - before.native,
        now.held - before.held,
        now.foreign - before.foreign,
        now.callbacks - before.callbacks,
      ]
    }
    await collect(() => more().every((count) => count <= 0))
    // Objects of earlier tests may be collected meanwhile.
    expect(more().map((count) => Math.max(count, 0))).toEqual([0, 0, 0, 0])
    const { heap, all, native } = memory()
    expect(heap - before.memory.heap).toBeLessThan(ALLOWED)
    // The heap grows and shrinks, and the process keeps its freed pages for a while. A native leak shows in both numbers.
    expect(Math.min(all - before.memory.all, native - before.memory.native)).toBeLessThan(ALLOWED)
  })
})
