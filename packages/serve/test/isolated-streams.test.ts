import { eventually } from '@tenon/config/eventually'
import { kernelLibrary } from '@tenon/kernels'
import { Library, tensor, type IsolatedLibrary, type Tensor } from 'tenon'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../src/client.ts'
import { defineModel } from '../src/index.ts'
import { libfaulty } from './make-repository.ts'
import { Served } from './support.ts'

/** The kernel `faulty` returns twice its input, or kills its worker, by its attribute `fault`. */
const TWICE = 0
const CRASH = 1

async function isolate(path: string): Promise<IsolatedLibrary> {
  const library = await Library.isolate(path, { workers: 2, restart: { limit: 100, window: 1000, backoff: 1 } })
  onTestFinished(() => library.closeAsync())
  return library
}

/** The shared memory of a sequence: the state, and the place of the next one. */
interface State extends Disposable {
  current: Tensor
  next: Tensor
}

/** Makes the model `growing`, which doubles its state, and adds nothing to it when its worker is killed. */
function growingModel(library: IsolatedLibrary) {
  const kernel = library.kernel('faulty')
  return defineModel({
    name: 'growing',
    signature: '(fault: s64[1]) -> (total: f32[4])',
    sequence: {
      maxSequenceIdleMicroseconds: 60_000_000,
      state: (): State => {
        const arena = library.memory.arena()
        const [current, next] = [1, 0].map((value) => {
          const made = tensor('f32', [4], undefined, { allocator: arena })
          made.set(new Float32Array(4).fill(value))
          return made
        }) as [Tensor, Tensor]
        return { current, next, [Symbol.dispose]: () => arena.close() }
      },
    },
    run: async ({ fault }, { sequence: { state }, signal }) => {
      await kernel.async(state.current, { fault: Number(fault.toArray()[0]) }, { into: state.next, signal })
      ;[state.current, state.next] = [state.next, state.current]
      return state.current
    },
  })
}

test('the state of a sequence in shared memory survives the death of its worker', async () => {
  const library = await isolate(libfaulty)
  const growing = growingModel(library)
  const served = await Served.start([growing])
  const client = createClient<{ growing: typeof growing }>(`http://${served.server.httpAddress}`)
  onTestFinished(() => client.closeAsync())
  const before = library.memory.usage.usedBytes
  const next = async (id: string, fault: number, place: object = {}): Promise<number> =>
    (await client.infer('growing', { fault: [BigInt(fault)] }, { sequence: { id, ...place } })).total.data[0]!

  expect(await next('a', TWICE, { start: true })).toBe(2)
  expect(await next('b', TWICE, { start: true })).toBe(2)
  expect(await next('a', TWICE)).toBe(4)
  await expect(next('a', CRASH)).rejects.toMatchObject({ code: 'TENON_NATIVE' })
  expect(await next('a', TWICE)).toBe(8)
  // All workers are killed from outside, while both sequences are idle.
  const pids = library.health().workers.flatMap(({ process: pid }) => (pid > 0 ? [pid] : []))
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await eventually(() => {
    expect(library.health().workers.some(({ process: pid }) => pids.includes(pid))).toBe(false)
  })
  expect(await next('b', TWICE)).toBe(4)
  expect(await next('a', TWICE, { end: true })).toBe(16)
  expect(await next('b', TWICE, { end: true })).toBe(8)
  await expect(next('a', TWICE)).rejects.toMatchObject({ code: 'TENON_INVALID_REQUEST' })
  await eventually(() => expect(library.memory.usage.usedBytes).toBe(before))
})

test('a stream that calls a kernel for each step gives its memory back when it ends, fails, or its client leaves', async () => {
  const library = await isolate(kernelLibrary('kernels'))
  const softmax = library.kernel('softmax')
  const steps = defineModel({
    name: 'steps',
    signature: '(x: f32[n], count: s32[1]) -> (y: f32[n])',
    memory: library.memory,
    run: async function* ({ x, count }) {
      const arena = library.memory.arena()
      try {
        let [y, next] = [x, tensor('f32', x.shape, undefined, { allocator: arena })]
        const [most] = count.view() as Int32Array
        for (let i = 0; i < most!; i++) {
          await softmax.async(y, {}, { into: next })
          ;[y, next] = [next, y]
          yield y
        }
        if (most === 0) throw new RangeError('no steps')
      } finally {
        arena.close()
      }
    },
  })
  const served = await Served.start([steps])
  const client = createClient<{ steps: typeof steps }>(`http://${served.server.httpAddress}`)
  onTestFinished(() => client.closeAsync())
  const before = library.memory.usage.usedBytes
  const sums: number[] = []
  for await (const { y } of client.stream('steps', { x: [0, 1, 2, 3], count: [3] })) {
    sums.push(y.data.reduce((sum, value) => sum + value, 0))
  }
  expect(sums.map((sum) => sum.toFixed(5))).toEqual(['1.00000', '1.00000', '1.00000'])
  await expect(client.stream('steps', { x: [1], count: [0] }).next()).rejects.toMatchObject({ code: 'TENON_NATIVE' })
  for (let i = 0; i < 20; i++) {
    for await (const { y } of client.stream('steps', { x: new Float32Array(1000), count: [1_000_000] })) {
      expect(y.data).toHaveLength(1000)
      break
    }
  }
  expect(library.metrics().copiedBytes).toBe(0)
  await eventually(() => expect(library.memory.usage.usedBytes).toBe(before))
})
