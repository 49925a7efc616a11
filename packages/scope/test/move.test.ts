import { ArgumentError, gcAllocator, ReadOnlyError, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'
import { ended, nextMessage, startWorker } from './support/worker.ts'

const path = join(mkdtempSync(join(tmpdir(), 'tenon-move-')), 'file')
/** A file of which some mappings stay, because the global scope has them. */
const kept = join(dirname(path), 'kept')
afterAll(() => rmSync(dirname(path), { recursive: true }))
beforeEach(() => {
  for (const file of [path, kept]) writeFileSync(file, 'hello')
})

const memset = Linker.downcall(SymbolLookup.ofProcess().get('memset'), {
  result: 'pointer',
  parameters: ['pointer', 'int32', 'uint64'],
})

const mappings = (): number =>
  process.platform === 'linux' ? readFileSync('/proc/self/maps', 'utf8').split(path).length - 1 : 0
const isMapped = (): boolean => mappings() > 0

/** Makes a segment of 64 bytes in a scope, or a mapped file of 5 bytes. */
const kinds: Record<string, (scope: ResourceScope) => MemorySegment> = {
  'a separate block': (scope) => MemorySegment.allocateNative(64, 64, scope).fill(104),
  'a mapped file': (scope) => MemorySegment.mapFile(kept, scope, { access: 'write' }),
}

const scopes = {
  confined: () => ResourceScope.ofConfined(),
  shared: () => ResourceScope.ofShared(),
  native: () => NativeScope.ofConfined(),
  managed: () => ResourceScope.ofConfined({ managed: true }),
} satisfies Record<string, () => ResourceScope>

const cases = Object.keys(kinds).flatMap((kind) =>
  Object.keys(scopes).flatMap((from) =>
    [...Object.keys(scopes), 'implicit', 'global'].map((to) => [kind, from, to] as const),
  ),
)

describe.each(cases)('%s in a %s scope that moves to a %s one', (kind, from, to) => {
  const target = (): ResourceScope =>
    to === 'implicit' ? ResourceScope.ofImplicit() : to === 'global' ? ResourceScope.global : scopes[to as 'confined']()

  test.each([false, true])('has the same bytes there, and ends with that scope (with a view: %s)', (hasView) => {
    const before = ResourceScope.stats()
    const [source, other] = [scopes[from as 'confined'](), target()]
    const segment = kinds[kind]!(source)
    const part = segment.asSlice(1)
    const view = hasView ? segment.view() : undefined
    const { address } = segment
    const moved = segment.moveTo(other)
    expect([moved.scope, moved.address, moved.byteSize, moved.getUint8(0)]).toEqual([
      other,
      address,
      segment.byteSize,
      104,
    ])
    expect(moved.isMapped).toBe(kind === 'a mapped file')
    for (const old of [segment, part]) {
      expect(() => old.getUint8(0)).toThrow(/moved to another scope/)
      expect(() => old.view()).toThrow(ScopeClosedError)
      expect(() => memset(old, 0, 1)).toThrow(ScopeClosedError)
      expect(() => old.moveTo(other)).toThrow(ScopeClosedError)
    }
    if (view !== undefined && !(view.buffer instanceof SharedArrayBuffer))
      expect(() => view.getInt8(0)).toThrow(TypeError)
    source.close()
    moved.setUint8(1, 69)
    expect(moved.getUint8(1)).toBe(69)
    if (moved.isMapped) expect(readFileSync(kept, 'utf8')).toBe('hEllo')
    if (moved.isMapped) moved.force()
    if ('anchor' in other && to !== 'implicit') other.close()
    else return
    expect(() => moved.getUint8(0)).toThrow(ScopeClosedError)
    const { openScopes, liveBytes } = ResourceScope.stats()
    expect([openScopes, liveBytes]).toEqual([before.openScopes, before.liveBytes])
  })
})

test('a mapped file is unmapped by the scope that it moved to, and once', () => {
  const [source, target] = [ResourceScope.ofConfined(), ResourceScope.ofConfined()]
  const moved = MemorySegment.mapFile(path, source).moveTo(target)
  source.close()
  expect(isMapped()).toBe(process.platform === 'linux')
  expect(moved.getString(0, 'utf-8', 5)).toBe('hello')
  target.close()
  expect(isMapped()).toBe(false)
})

test('memory and files without a scope get one', async () => {
  const scope = ResourceScope.ofConfined()
  const one = MemorySegment.allocateNative(64).fill(5)
  const neighbour = MemorySegment.allocateNative(64).fill(6)
  const view = one.view()
  const [moved, file] = [one.moveTo(scope), MemorySegment.mapFile(path).moveTo(scope)]
  expect([moved.getInt8(63), file.getString(0, 'utf-8', 5), view.getInt8(0)]).toEqual([5, 'hello', 5])
  expect(MemorySegment.ofBuffer(view).scope).toBe(scope)
  for (let i = 0; i < 5; i++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(file.getString(0, 'utf-8', 5)).toBe('hello')
  scope.close()
  expect([isMapped(), neighbour.getInt8(0)]).toEqual([false, 6])
  expect(() => moved.getInt8(0)).toThrow(ScopeClosedError)
})

test('memory of a message moves, whether it was handed off or shared', () => {
  const [giver, target] = [NativeScope.ofConfined(), ResourceScope.ofConfined()]
  const { scope, segments } = ResourceScope.attach(giver.handoff([giver.allocate(64).fill(9), giver.allocate(8)]))
  const moved = segments[0]!.moveTo(target)
  scope.close()
  expect(moved.getInt8(63)).toBe(9)
  expect(() => segments[1]!.getInt8(0)).toThrow(ScopeClosedError)
  const owner = ResourceScope.ofShared()
  const attached = ResourceScope.attach(owner.share({ segments: [owner.allocate(8).fill(3)] }))
  expect(() => attached.segments[0]!.moveTo(target)).toThrow(ScopeHeldError)
  owner.detach()
  const shared = attached.segments[0]!.moveTo(target)
  attached.scope.close()
  expect(shared.getInt8(0)).toBe(3)
  target.close()
  for (const segment of [moved, shared]) expect(() => segment.getInt8(0)).toThrow(ScopeClosedError)
})

test('memory that another thread uses does not move', async () => {
  const [scope, target] = [ResourceScope.ofShared(), ResourceScope.ofConfined()]
  const segment = MemorySegment.allocateNative(64, 8, scope)
  const worker = startWorker(
    `
    const { scope: attached, segments: [segment] } = scope.ResourceScope.attach(workerData)
    parentPort.postMessage('attached')
    parentPort.once('message', () => { segment.setInt32(0, 7); attached.detach(); parentPort.postMessage('done') })`,
    scope.share({ segments: [segment] }),
  )
  await nextMessage(worker)
  expect(() => segment.moveTo(target)).toThrow(/used by 1 other handle/)
  worker.postMessage('go', [])
  await nextMessage(worker)
  expect(segment.moveTo(target).getInt32(0)).toBe(7)
  await ended(worker)
  scope.close()
  target.close()
})

test('a mapped file that was shared with other threads does not move', () => {
  const segment = MemorySegment.mapFile(path)
  try {
    segment.share()
  } catch {
    return // The runtime cannot share mappings.
  }
  expect(() => segment.moveTo(ResourceScope.ofConfined())).toThrow(/shared with other threads/)
  expect(segment.getString(0, 'utf-8', 5)).toBe('hello')
})

test('memory that calls and holds use does not move, and can be used afterwards', async () => {
  const [source, target] = [ResourceScope.ofConfined(), ResourceScope.ofConfined()]
  const segment = MemorySegment.allocateNative(64, 8, source)
  for (const hold of [() => segment.pin(), () => source.acquire()]) {
    const held = hold()
    expect(() => segment.moveTo(target)).toThrow(ScopeHeldError)
    held.release()
  }
  const running = memset.async(segment, 1, 64)
  expect(() => segment.moveTo(target)).toThrow(ScopeHeldError)
  await running
  const file = MemorySegment.mapFile(path)
  const pin = file.pin()
  expect(() => file.moveTo(target)).toThrow(ScopeHeldError)
  pin.release()
  expect(segment.moveTo(target).getInt8(63)).toBe(1)
})

test('a tensor over memory that moved throws, also in calls', () => {
  const [source, target] = [ResourceScope.ofConfined(), ResourceScope.ofConfined()]
  const segment = MemorySegment.allocateNative(16, 8, source)
  const x = tensor('f32', [4], segment)
  const moved = segment.moveTo(target)
  target.close()
  expect(() => x.toArray()).toThrow(ScopeClosedError)
  expect(() => memset(x, 0, 16)).toThrow(ScopeClosedError)
  expect(() => moved.getInt8(0)).toThrow(ScopeClosedError)
  source.close()
})

test('scopes that are closed or closing neither give nor take memory', async () => {
  const [source, target, closed] = [ResourceScope.ofConfined(), ResourceScope.ofConfined(), ResourceScope.ofConfined()]
  closed.close()
  const segment = MemorySegment.allocateNative(8, 8, source).fill(4)
  expect(() => segment.moveTo(closed)).toThrow(ScopeClosedError)
  target.addCloseAction(() => expect(() => segment.moveTo(target)).toThrow(ScopeClosedError))
  source.addCloseAction(() => expect(() => segment.moveTo(target)).toThrow(ScopeClosedError))
  const hold = source.acquire()
  const closing = source.closeAsync()
  expect(() => segment.moveTo(target)).toThrow(ScopeClosedError)
  expect(segment.getInt8(0)).toBe(4)
  hold.release()
  await closing
  target.close()
  expect(() => segment.moveTo(closed)).toThrow(ScopeClosedError)
})

test('other memory is refused, with its kind', () => {
  const [arena, target] = [NativeScope.ofConfined(), ResourceScope.ofConfined()]
  const large = arena.allocate(10_000_000)
  const native = MemorySegment.ofAddress(arena.allocate(8).address).reinterpret(8, ResourceScope.ofConfined())
  for (const [segment, message] of [
    [arena.allocate(8), /part of an arena/],
    [large, /part of an arena/],
    [native, /memory of native code/],
    [MemorySegment.ofAddress(4096), /memory of native code/],
    [MemorySegment.ofBuffer(new Uint8Array(8)), /memory of a JavaScript buffer/],
    [MemorySegment.ofSegment(gcAllocator.allocate(8)), /memory of another lifetime/],
    [MemorySegment.allocateNative(8, 8, ResourceScope.global), /never freed/],
  ] as const) {
    expect(() => segment.moveTo(target)).toThrow(message)
    expect(() => segment.moveTo(target)).toThrow(ArgumentError)
  }
  for (const scope of [null, undefined, {}, 'scope'])
    expect(() => MemorySegment.allocateNative(8).moveTo(scope as never)).toThrow(ArgumentError)
  expect(large.fill(1).getInt8(0)).toBe(1)
  arena.close()
})

test('a move to the same scope changes nothing, and rights stay', () => {
  const scope = ResourceScope.ofConfined()
  const segment = MemorySegment.allocateNative(8, 8, scope)
  expect(segment.moveTo(scope).equals(segment)).toBe(true)
  segment.setInt8(0, 2)
  const moved = segment.asReadOnly().moveTo(ResourceScope.ofConfined())
  expect([moved.getInt8(0), moved.readOnly]).toEqual([2, true])
  expect(() => moved.setInt8(0, 1)).toThrow(ReadOnlyError)
})

test('a buffer that the user has marked or transferred does not move', () => {
  const [source, target] = [ResourceScope.ofConfined(), ResourceScope.ofConfined()]
  const segment = MemorySegment.allocateNative(8, 8, source)
  structuredClone(segment.view().buffer, { transfer: [segment.view().buffer as ArrayBuffer] })
  expect(() => segment.moveTo(target)).toThrow(ScopeClosedError)
})

test('thousands of moves leave nothing behind', () => {
  const [before, mapped] = [ResourceScope.stats(), mappings()]
  const keep = ResourceScope.ofConfined({ managed: true })
  for (let i = 0; i < 2000; i++) {
    const [source, target] = [ResourceScope.ofConfined(), ResourceScope.ofShared()]
    let segment = i % 2 === 0 ? MemorySegment.allocateNative(64, 8, source) : MemorySegment.mapFile(path, source)
    for (const scope of [target, keep, source, target]) segment = segment.moveTo(scope)
    source.close()
    target.close()
  }
  keep.close()
  const { openScopes, liveBytes, holds } = ResourceScope.stats()
  expect([openScopes, liveBytes, holds]).toEqual([before.openScopes, before.liveBytes, before.holds])
  // The collector may have ended mappings of other tests.
  expect(mappings()).toBeLessThanOrEqual(mapped)
})
