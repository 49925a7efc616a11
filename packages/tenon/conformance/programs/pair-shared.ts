import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Tensor, tensorSymbol } from 'tenon'
import { NativeScope } from 'tenon/scope'
import {
  adopted,
  afterCopy,
  checkPair,
  collect,
  flat,
  inPlace,
  lent,
  matrix,
  nest,
  onRequest,
  pinnedScopeClosed,
  scopeClosed,
} from './pair.ts'

/** A worker that keeps a shared array, and answers with its elements, or writes one. */
class Reader {
  readonly #worker: Worker

  constructor(array: Float32Array) {
    const code = `const { parentPort, workerData } = require('node:worker_threads')
parentPort.on('message', (value) => {
  if (value !== undefined) workerData[0] = value
  parentPort.postMessage([...workerData])
})`
    this.#worker = new Worker(code, { eval: true, workerData: array })
    this.#worker.unref()
  }

  async read(write?: number): Promise<number[]> {
    this.#worker.postMessage(write, [])
    const [values] = (await once(this.#worker, 'message')) as [number[]]
    return values
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}

/** A shared array that a worker has filled. */
async function filled(values: readonly number[]): Promise<Float32Array> {
  const array = new Float32Array(new SharedArrayBuffer(4 * values.length))
  const worker = new Worker(
    `require('node:worker_threads').workerData.array.set(require('node:worker_threads').workerData.values)`,
    {
      eval: true,
      workerData: { array, values },
    },
  )
  await once(worker, 'exit')
  return array
}

const memory = await filled(flat(matrix.contiguous))

const offer = (
  first: number,
  shape: number[],
  strides?: number[],
): { x: object; memory: Float32Array; first: number } => {
  const x = { version: 1, dtype: 'float32', shape, strides, byteOffset: 4 * first, buffer: memory.buffer } as const
  return { x: { [tensorSymbol]: () => x }, memory, first }
}

/** Tenon's memory in a worker. */
function take(t: Tensor): { read(): Promise<unknown>; memory: Float32Array } {
  const array = t.view() as Float32Array
  const reader = new Reader(array)
  return { read: async () => nest(await reader.read(), t.shape), memory: array }
}

await checkPair({
  values: matrix,
  open: () => NativeScope.ofShared(),
  toTenon: {
    contiguous: inPlace(() => offer(0, [2, 3])),
    transposed: inPlace(() => offer(0, [3, 2], [1, 3])),
    sliced: inPlace(() => offer(1, [2, 2], [3, 1])),
    reversed: onRequest(() => offer(2, [2, 3], [3, -1]).x),
    'no elements': inPlace(() => offer(0, [0, 3])),
    '0-d': inPlace(() => offer(4, [])),
  },
  fromTenon: {
    contiguous: lent(take),
    transposed: afterCopy(take),
    sliced: afterCopy(take),
    'no elements': lent(take),
    '0-d': lent(take),
  },
  lifetimes: [
    {
      closed: 'the worker that filled it ends',
      left: 'the memory stays',
      async check() {
        const y = adopted(await filled([1, 2, 3]))
        await collect()
        assert.deepEqual(y.toArray(), [1, 2, 3])
      },
    },
    scopeClosed(take, 'the memory stays', async ({ read }) => assert.deepEqual(await read(), matrix.contiguous)),
    pinnedScopeClosed(take),
  ],
})
