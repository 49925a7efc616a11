import { ArgumentError, driverInfo, gcAllocator, ScopeClosedError, TenonError, UnsupportedError } from '@tenon/core'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import type { ImplicitToken } from '../src/segment/share.ts'
import { ended, nextMessage, startWorker } from './support/worker.ts'

const path = join(mkdtempSync(join(tmpdir(), 'tenon-scope-less-')), 'file')
afterAll(() => rmSync(dirname(path), { recursive: true }))

/** Whether native memory and mappings can be shared: other drivers allocate each segment as a SharedArrayBuffer. */
const hasRanges = driverInfo().kind === 'node-api'

/** Collects garbage, and lets the event loop go on. */
async function rounds(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Collects garbage until `isDone`, for at most 200 rounds. */
async function collect(isDone: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !isDone(); i++) await rounds(1)
}

const mappings = (): number => readFileSync('/proc/self/maps', 'utf8').split(path).length - 1

describe('memory without a scope', () => {
  test.each([8, 64, 2048, 4096, 100_000])('of %d bytes is zeroed, and used by two threads', async (size) => {
    const segment = MemorySegment.allocateNative(size, 64)
    expect([segment.byteSize, segment.address % 64n, segment.getInt8(size - 1)]).toEqual([size, 0n, 0])
    segment.setInt32(0, 41)
    const worker = startWorker(
      `
      const { scope: attached, segments: [segment] } = scope.ResourceScope.attach(workerData)
      segment.setInt32(0, segment.getInt32(0) + 1)
      parentPort.postMessage([segment.getInt32(0), segment.address, segment.byteSize, String(attached)])`,
      segment.share(),
    )
    expect(await nextMessage(worker)).toEqual([42, segment.address, size, 'implicit scope'])
    expect(segment.getInt32(0)).toBe(42)
    await ended(worker)
  })

  test('outlives the thread that allocated it', async () => {
    const worker = startWorker(`
      const segment = scope.MemorySegment.allocateNative(64)
      segment.setString(0, 'from a worker')
      parentPort.postMessage(segment.share())`)
    const token = await nextMessage<ImplicitToken>(worker)
    await ended(worker)
    await rounds(5)
    const [segment] = ResourceScope.attach(token).segments
    expect(segment!.getString(0)).toBe('from a worker')
    segment!.setInt8(0, 70)
    expect(segment!.getString(0)).toBe('From a worker')
  })

  test('is shared without the memory of other segments', () => {
    const segments = Array.from({ length: 8 }, (_, i) => MemorySegment.allocateNative(48, 16).fill(i + 1))
    const middle = segments[4]!
    const { buffer, byteSize } = middle.asSlice(8, 16).share().segments[0]!
    expect([buffer.byteLength, byteSize]).toEqual([48, 16])
    new Uint8Array(buffer).fill(0xff)
    expect([middle.view().buffer.byteLength, middle.getUint8(47)]).toEqual([48, 0xff])
    segments.forEach((segment, i) => {
      if (segment !== middle) expect(segment.toArray(MemoryLayout.uint8)).toEqual(new Uint8Array(48).fill(i + 1))
    })
  })

  test('keeps the rights and the place of a segment', () => {
    const segment = MemorySegment.allocateNative(64).fill(7)
    const [part] = ResourceScope.attach(segment.asSlice(16, 8).asReadOnly().share()).segments
    expect([part!.byteSize, part!.readOnly, part!.getInt8(0)]).toEqual([8, true, 7])
    expect([part!.address, segment.isAccessibleBy(99)]).toEqual([segment.address + 16n, true])
    expect(() => part!.setInt8(0, 1)).toThrow(/read-only/)
    // The receiver can pass it on.
    expect(ResourceScope.attach(part!.share()).segments[0]!.getInt8(7)).toBe(7)
    expect(String(segment.share())).toBe('token of an implicit scope with 1 segment')
  })

  test('lets a thread wait for another', async () => {
    const segment = MemorySegment.allocateNative(8)
    const worker = startWorker(
      `
      const { segments: [segment] } = scope.ResourceScope.attach(workerData)
      parentPort.postMessage('ready')
      parentPort.postMessage(segment.atomicWait('int32', 0, 0, 60_000))`,
      segment.share(),
    )
    expect(await nextMessage(worker)).toBe('ready')
    const message = nextMessage(worker)
    segment.atomicStore('int32', 0, 1)
    segment.atomicNotify('int32', 0)
    expect(['ok', 'not-equal']).toContain(await message)
    await ended(worker)
  })

  test('has a scope of its own, whose actions run when the segment is collected', async () => {
    let ran = 0
    const allocate = (): ImplicitToken[] =>
      Array.from({ length: 20 }, () => {
        const segment = MemorySegment.allocateNative(64).fill(3)
        ;(segment.scope as ReturnType<typeof ResourceScope.ofImplicit>).addCloseAction(() => ran++)
        // The sender's own message keeps the scope, as a raw view does.
        return structuredClone(segment.share())
      })
    const tokens = allocate()
    await collect(() => ran === 20)
    expect(ran).toBe(20)
    for (const token of tokens) expect(ResourceScope.attach(token).segments[0]!.getInt8(63)).toBe(3)
  })

  test('cannot be closed', () => {
    expect(() => MemorySegment.allocateNative(8).scope.close()).toThrow(ScopeClosedError)
  })
})

describe('a file that is mapped without a scope', () => {
  test('is shared with another thread, and unmapped when both have collected it', async () => {
    writeFileSync(path, 'hello')
    const before = mappings()
    const use = async (): Promise<void> => {
      const segment = MemorySegment.mapFile(path)
      expect([segment.getString(0, 'utf-8', 5), segment.readOnly, segment.isMapped]).toEqual(['hello', true, true])
      if (!hasRanges) return expect(() => segment.share()).toThrow(UnsupportedError)
      const worker = startWorker(
        `
        const { segments: [segment] } = scope.ResourceScope.attach(workerData)
        parentPort.postMessage([segment.getString(0, 'utf-8', 5), segment.address, segment.readOnly])`,
        segment.share(),
      )
      expect(await nextMessage(worker)).toEqual(['hello', segment.address, true])
      expect([
        segment.isAccessibleBy(99),
        segment.share().segments[0]!.buffer === segment.share().segments[0]!.buffer,
      ]).toEqual([true, true])
      await ended(worker)
    }
    await use()
    if (process.platform !== 'linux') return
    await collect(() => mappings() === before)
    expect(mappings()).toBe(before)
  })

  test.runIf(hasRanges && process.platform === 'linux')(
    'stays mapped as long as a thread has it, and writes go to the file',
    async () => {
      writeFileSync(path, 'abc')
      const before = mappings()
      const share = (): ImplicitToken => MemorySegment.mapFile(path, undefined, { access: 'write' }).share()
      let token: ImplicitToken | undefined = share()
      await rounds(5)
      let [segment] = ResourceScope.attach(token).segments as [MemorySegment | undefined]
      segment!.setUint8(1, 66)
      expect([readFileSync(path, 'utf8'), mappings()]).toEqual(['aBc', before + 1])
      segment = token = undefined
      await collect(() => mappings() === before)
      expect(mappings()).toBe(before)
    },
  )

  test.runIf(hasRanges)('of 0 bytes is shared', () => {
    writeFileSync(path, '')
    expect(ResourceScope.attach(MemorySegment.mapFile(path).share()).segments[0]!.byteSize).toBe(0)
  })
})

describe('share() of a segment', () => {
  test('refuses memory of other lifetimes, with the name of what to use', () => {
    const confined = NativeScope.ofConfined()
    const segment = confined.allocate(8)
    expect(() => segment.share()).toThrow(ArgumentError)
    expect(() => NativeScope.ofShared().allocate(8).share()).toThrow(/memory of another lifetime/)
    expect(() => MemorySegment.ofSegment(gcAllocator.allocate(8)).share()).toThrow(/memory of another lifetime/)
    expect(() => MemorySegment.ofBuffer(new Uint8Array(8)).share()).toThrow(/memory of a JavaScript buffer/)
    expect(() => MemorySegment.ofAddress(4096).share()).toThrow(/got a pointer/)
    confined.close()
    expect(() => segment.share()).toThrow(ScopeClosedError)
    expect(MemorySegment.ofBuffer(new SharedArrayBuffer(8)).share().segments[0]!.byteSize).toBe(8)
    expect(MemorySegment.allocateNative(8, 8, ResourceScope.global).share().segments).toHaveLength(1)
  })

  test('messages that nobody has made are refused', () => {
    const token = MemorySegment.allocateNative(8).share()
    const [good] = token.segments
    for (const segments of [
      undefined,
      null,
      [null],
      [{ ...good, byteSize: 9 }],
      [{ ...good, byteOffset: -1 }],
      [{ ...good, buffer: {} }],
    ])
      expect(() => ResourceScope.attach({ ...token, segments } as never), JSON.stringify(segments)).toThrow(TenonError)
    expect(() => ResourceScope.attach({ tenon: 'implicit' } as never)).toThrow(ArgumentError)
  })
})
