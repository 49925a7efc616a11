import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'
import { ended, nextMessage, startWorker } from './support/worker.ts'

/** Tests of several parts together. The single parts have tests of their own. */
describe('scopes together', () => {
  test('a confined scope held by a shared one can be closed when the other threads have detached', async () => {
    const root = NativeScope.ofConfined()
    const hold = root.acquire()
    const shared = NativeScope.ofShared()
    shared.addCloseAction(() => hold.release())
    const worker = startWorker(`
      parentPort.once('message', (token) => {
        const { scope: attached } = scope.ResourceScope.attach(token)
        attached.whenClosing().then(() => attached.detach())
        parentPort.postMessage('attached')
      })
      parentPort.postMessage('ready')
    `)
    expect(await nextMessage(worker)).toBe('ready')
    worker.postMessage(shared.share({ to: worker }), [])
    expect(await nextMessage(worker)).toBe('attached')
    expect(() => root.close()).toThrow(/1 hold/)
    await shared.closeAsync()
    root.close()
    await ended(worker)
  })

  test('threads work on separate parts of one segment', async () => {
    const [parts, size, threads] = [1024, 64, 4]
    await using scope = NativeScope.ofShared()
    const whole = scope.allocate(parts * size, 64)
    const workers = Array.from({ length: threads }, (_, thread) =>
      startWorker(
        `const { token, from, to, size } = workerData
         const { scope: attached, segments: [whole] } = scope.ResourceScope.attach(token)
         for (let i = from; i < to; i++) whole.asSlice(i * size, size).fill(42)
         attached.detach()
         parentPort.postMessage('done')`,
        {
          token: scope.share({ segments: [whole] }),
          from: (thread * parts) / threads,
          to: ((thread + 1) * parts) / threads,
          size,
        },
      ),
    )
    const answers = await Promise.all(workers.map((worker) => nextMessage(worker)))
    expect(answers).toEqual(workers.map(() => 'done'))
    await Promise.all(workers.map(ended))
    expect(whole.mismatch(MemorySegment.allocateNative(parts * size).fill(42))).toBe(-1)
  })
})

describe('layouts and raw views', () => {
  const record = MemoryLayout.struct({ id: MemoryLayout.uint8, x: MemoryLayout.float64, y: MemoryLayout.int16 })
  const records = MemoryLayout.sequence(record, 10)
  const memories = {
    'a scope': (scope: ReturnType<typeof NativeScope.ofConfined>) => NativeAllocator.allocate(scope, records),
    'a buffer': () => MemorySegment.ofBuffer(new Float64Array(records.byteSize! / 8)),
  }
  for (const [name, make] of Object.entries(memories)) {
    test(`what is written to structs in memory of ${name} is what a raw view reads`, () => {
      using scope = NativeScope.ofConfined()
      const memory = make(scope)
      for (const [member, offset, read] of [
        ['id', 0, (view: DataView, at: number) => view.getUint8(at)],
        ['x', 8, (view: DataView, at: number) => view.getFloat64(at, true)],
        ['y', 16, (view: DataView, at: number) => view.getInt16(at, true)],
      ] as const) {
        const handle = MemoryLayout.varHandle<number>(records, MemoryLayout.element(), member)
        for (let i = 0; i < 10; i++) handle.set(memory, 0, i + 1, i)
        for (let i = 0; i < 10; i++) expect(read(memory.view(), i * record.byteSize! + offset)).toBe(i + 1)
      }
    })
  }

  test('allocations up to 256 MiB can be aligned to their own size', () => {
    using scope = ResourceScope.ofConfined()
    for (let size = 8; size <= 256 * 2 ** 20; size *= 32) {
      const segment = MemorySegment.allocateNative(size, size, scope)
      expect([segment.byteSize, segment.address % BigInt(size)]).toEqual([size, 0n])
    }
  })
})

if (process.platform !== 'win32')
  describe('functions of the C library', () => {
    const libc = SymbolLookup.ofProcess()
    const { int32, int64, address } = MemoryLayout

    test('concatenate and compare strings', () => {
      using scope = NativeScope.ofConfined()
      const strcat = Linker.downcall(libc.get('strcat'), { result: 'pointer', parameters: ['pointer', 'pointer'] })
      const strcmp = Linker.downcall(libc.get('strcmp'), { result: 'int32', parameters: ['pointer', 'pointer'] })
      const room = scope.allocate(32)
      room.setString(0, 'hello, ')
      expect((strcat(room, toCString('world', scope)) as MemorySegment).equals(room)).toBe(true)
      expect(room.getString(0)).toBe('hello, world')
      const words = ['a', 'ab', 'b', '', 'hello, world']
      for (const one of [...words, room]) {
        for (const other of words) {
          const [left, right] = [one instanceof MemorySegment ? room.getString(0) : one, other]
          const given = one instanceof MemorySegment ? one : toCString(one, scope)
          const order = strcmp(given, toCString(other, scope)) as number
          expect(Math.sign(order)).toBe(left === right ? 0 : left < right ? -1 : 1)
        }
      }
    })

    test('fill structs through a pointer', () => {
      const names = ['sec', 'min', 'hour', 'mday', 'mon', 'year', 'wday', 'yday', 'isdst'] as const
      const tm = MemoryLayout.struct({
        ...(Object.fromEntries(names.map((name) => [name, int32])) as Record<(typeof names)[number], typeof int32>),
        gmtoff: int64,
        zone: address,
      })
      using scope = NativeScope.ofConfined()
      const gmtime = Linker.downcall(libc.get('gmtime_r'), { result: 'pointer', parameters: ['pointer', 'pointer'] })
      const time = NativeAllocator.allocateFrom(scope, int64, 951_782_400n)
      gmtime(time, NativeAllocator.allocate(scope, tm))
      const into = NativeAllocator.allocate(scope, tm)
      const given = (gmtime(time, into) as MemorySegment).reinterpret(tm.byteSize!)
      const { mday, mon, year, hour } = MemoryLayout.accessor(tm).at(given)
      expect([year + 1900, mon + 1, mday, hour]).toEqual([2000, 2, 29, 0])
      expect(given.mismatch(into)).toBe(-1)
    })
  })
