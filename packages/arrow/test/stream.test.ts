import { eventually } from '@tenon/config/eventually'
import { StringTensor } from '@tenon/tstring'
import { describe, expect, test } from 'vitest'
import { ArgumentError, ScopeClosedError, ScopeHeldError, tensor, type Tensor } from '@tenon/core'
import { NativeScope } from '@tenon/scope'
import {
  type ArrowBatch,
  ArrowError,
  exportBatch,
  exportStream,
  importSchema,
  importStream,
  type ExportColumns,
} from '@tenon/arrow'
import { counts, makeBatch, makeStream, peer } from './peer.ts'

const first = (batch: ArrowBatch): unknown => batch.column('x').tensor().toArray()[0]

describe('an imported stream', () => {
  test('is read to its end, and each batch is released when the loop goes on', () => {
    using scope = NativeScope.ofConfined()
    const before = counts()
    const seen: unknown[] = []
    for (const batch of importStream(makeStream(scope, 3n))) {
      seen.push(first(batch))
      expect(counts().arrays).toBe(before.arrays + seen.length - 1)
    }
    expect(seen).toEqual([0n, 4n, 8n])
    expect(counts()).toEqual({ schemas: before.schemas + 1, arrays: before.arrays + 3, streams: before.streams + 1 })
  })

  test('is released once when a loop is left early, and keeps what is kept', () => {
    using scope = NativeScope.ofConfined()
    const before = counts()
    const stream = importStream(makeStream(scope, 3n))
    expect(String(stream.schema)).toBe('ArrowSchema ["x" l]')
    let kept: ArrowBatch | undefined
    for (const batch of stream) {
      kept = batch.keep()
      break
    }
    expect(counts()).toEqual({ ...before, schemas: before.schemas + 1, streams: before.streams + 1 })
    expect(first(kept!)).toBe(0n)
    kept!.close()
    expect(counts().arrays).toBe(before.arrays + 1)
    expect(() => stream.read()).toThrow(ScopeClosedError)
    expect(() => stream.close()).toThrow(ScopeClosedError)
  })

  test('closes a batch that a hold uses after the hold', () => {
    using scope = NativeScope.ofConfined()
    const before = counts().arrays
    const stream = importStream(makeStream(scope, 3n))
    const batches = stream[Symbol.iterator]()
    const hold = (batches.next().value as ArrowBatch).lifetime.acquire()
    batches.next()
    expect(counts().arrays).toBe(before)
    hold.release()
    batches.next()
    expect(counts().arrays).toBe(before + 2)
    batches.return()
    expect(counts().arrays).toBe(before + 3)
  })

  test('closes a batch after the consumer of an export of it has released that', () => {
    using scope = NativeScope.ofConfined()
    const before = counts().arrays
    const stream = importStream(makeStream(scope, 2n))
    const batch = stream.read()!
    using exported = exportBatch({ x: batch.column('x').tensor() })
    peer.takeArray(exported.array)
    batch.closeSoon()
    expect([batch.isAlive, peer.sumTaken()]).toEqual([true, 6n])
    peer.releaseTaken()
    // This looks for batches that are not used any more.
    stream.read()!.close()
    expect([batch.isAlive, counts().arrays]).toEqual([false, before + 2])
    stream.close()
  })

  test('is read on another thread', async () => {
    using scope = NativeScope.ofConfined()
    const before = counts()
    const stream = importStream(makeStream(scope, 3n), { writable: true })
    const reading = stream.readAsync()
    expect(() => stream.read()).toThrow('the stream is being read')
    expect(() => stream.close()).toThrow(ScopeHeldError)
    using own = (await reading)!
    expect([first(own), own.column('x').tensor().segment.readOnly]).toEqual([0n, false])
    const seen: unknown[] = []
    for await (const batch of stream) seen.push(first(batch))
    expect(seen).toEqual([4n, 8n])
    expect(counts()).toEqual({ schemas: before.schemas + 1, arrays: before.arrays + 2, streams: before.streams + 1 })
  })

  test('that fails says why at each further read, and is released', async () => {
    using scope = NativeScope.ofConfined()
    const before = counts()
    const stream = importStream(makeStream(scope, 3n, 1n))
    using batch = stream.read()!
    expect(first(batch)).toBe(0n)
    expect(() => stream.read()).toThrow('the stream failed with EIO (5): the disk is full')
    await expect(stream.readAsync()).rejects.toThrow(ArrowError)
    stream.close()
    expect(counts()).toEqual({ ...before, schemas: before.schemas + 1, streams: before.streams + 1 })
    expect(() => importStream(makeStream(scope, 0n)).read()).not.toThrow()
  })

  test('without functions is refused and released', () => {
    using scope = NativeScope.ofConfined()
    const before = counts()
    const made = makeStream(scope, 1n)
    made.setInt64(8, 0n)
    expect(() => importStream(made)).toThrow('must have the function get_next')
    expect(counts()).toEqual({ ...before, streams: before.streams + 1 })
    expect(() => importStream(made)).toThrow('must be a struct that is not released')
  })
})

describe('an exported stream', () => {
  const batches = function* (seen: string[], count = 3): Generator<ExportColumns> {
    try {
      for (let i = 0; i < count; i++) yield { x: tensor('i64', [2], [BigInt(i), 1n]) }
    } finally {
      seen.push('end')
    }
  }
  const consume = (stream: ReturnType<typeof exportStream>, most = 100n): [number, bigint] => {
    using scope = NativeScope.ofConfined()
    const sum = scope.allocate(8, 8)
    const status = peer.consumeStream(stream.stream, most, sum) as number
    return [status, sum.getInt64(0)]
  }

  test('is read by its consumer, batch by batch', () => {
    const seen: string[] = []
    using stream = exportStream(batches(seen))
    expect(consume(stream)).toEqual([0, 6n])
    expect(seen).toEqual(['end'])
  })

  test('is read on another thread, while the event loop makes the batches', async () => {
    using scope = NativeScope.ofConfined()
    const sum = scope.allocate(8, 8)
    using stream = exportStream(batches([], 50))
    expect(await peer.consumeStream.async(stream.stream, 1000n, sum)).toBe(0)
    expect(sum.getInt64(0)).toBe(BigInt((49 * 50) / 2 + 50))
  })

  test('returns its iterator when the consumer has released it early', async () => {
    const seen: string[] = []
    using stream = exportStream(batches(seen))
    expect(consume(stream, 1n)).toEqual([0, 1n])
    // The event loop hears of a release, with koffi one turn later.
    await eventually(() => expect(seen).toEqual(['end']))
  })

  test('without a consumer is released by close()', async () => {
    const seen: string[] = []
    const stream = exportStream(
      (function* () {
        yield* batches(seen)
      })(),
    )
    importStream(stream.stream).close()
    stream.close()
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen).toEqual(['end'])
  })

  test('gives the error of its iterable to the consumer', () => {
    const failing = function* (): Generator<ExportColumns> {
      yield { x: tensor('i64', [1], [1n]) }
      throw new RangeError('no more rows: Ω')
    }
    expect(consume(exportStream(failing()))).toEqual([5, 1n])
    expect(consume(exportStream([]))).toEqual([5, 0n])
    expect(consume(exportStream(failing()))).toEqual([5, 1n])
    expect(peer.lastError()).toBe('no more rows: Ω')
    using imported = importStream(exportStream(failing()).stream)
    imported.read()
    expect(() => imported.read()).toThrow('the stream failed with EIO (5): no more rows: Ω')
  })

  test('refuses batches with other columns than the first', () => {
    using imported = importStream(exportStream([{ x: tensor([1]) }, { y: tensor([1]) }]).stream)
    imported.read()
    expect(() => imported.read()).toThrow('all batches must have the columns x f, got y f')
  })

  test('needs a schema if it has no batches', () => {
    expect(() => importStream(exportStream([]).stream)).toThrow('a stream without batches must have a schema')
    using scope = NativeScope.ofConfined()
    const schema = importSchema(makeBatch(scope).schema)
    using empty = importStream(exportStream([], { schema }).stream)
    expect([String(empty.schema), empty.read(), empty.read()]).toEqual(['ArrowSchema ["x" l]', undefined, undefined])
  })

  test.each<unknown>([null, 7, {}, (async function* () {})()])('refuses %s', (value) => {
    expect(() => exportStream(value as never)).toThrow(ArgumentError)
  })

  test('passes batches of an imported stream through without a copy, and releases each after its consumer', () => {
    using scope = NativeScope.ofConfined()
    const before = counts()
    const addresses: bigint[] = []
    const through = function* (): Generator<ExportColumns> {
      for (const batch of importStream(makeStream(scope, 5n))) {
        const x = batch.column('x').tensor()
        addresses.push(x.segment.address)
        yield { x }
        // The consumer has read the batch before.
        expect(counts().arrays - before.arrays).toBeLessThan(addresses.length + 1)
      }
    }
    using stream = exportStream(through())
    expect(consume(stream)).toEqual([0, 190n])
    expect(counts().arrays).toBe(before.arrays + 5)
    expect(new Set(addresses).size).toBeLessThanOrEqual(5)
  })

  test('has strings and lists', () => {
    const columns = (): ExportColumns => ({ s: StringTensor.from(['a', 'b']), m: tensor('f32', [2, 2], [1, 2, 3, 4]) })
    const seen: unknown[] = []
    for (const batch of importStream(exportStream([columns(), columns()]).stream)) {
      seen.push([batch.column('s').strings().toArray(), (batch.column('m').tensor() as Tensor).toNested()])
    }
    expect(seen).toEqual(
      Array.from({ length: 2 }, () => [
        ['a', 'b'],
        [
          [1, 2],
          [3, 4],
        ],
      ]),
    )
  })
})
