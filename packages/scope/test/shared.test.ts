import { ArgumentError, ScopeClosedError, ScopeHeldError, TenonError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import {
  type HandoffToken,
  MemoryLayout,
  MemorySegment,
  NativeScope,
  ResourceScope,
  type SharedScope,
  toCString,
} from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'
import { ended, nextMessage, startWorker } from './support/worker.ts'

const strlen = Linker.downcall(SymbolLookup.ofProcess().get('strlen'), { result: 'uint64', parameters: ['pointer'] })

describe('a shared scope', () => {
  test('lets a worker attach and change the same memory', async () => {
    const scope = NativeScope.ofShared({ name: 'shared' })
    const segment = scope.allocate(16, 8)
    segment.setInt32(0, 41)
    const worker = startWorker(
      `
      const { scope: attached, segments: [segment] } = scope.ResourceScope.attach(workerData)
      const seen = [segment.getInt32(0), segment.address, attached.name, attached.kind]
      segment.setInt32(0, 42)
      attached.detach()
      let error
      try { segment.getInt32(0) } catch (e) { error = e.code }
      parentPort.postMessage([...seen, error])
    `,
      scope.share({ segments: [segment] }),
    )
    expect(await nextMessage(worker)).toEqual([41, segment.address, 'shared', 'shared', 'TENON_SCOPE_CLOSED'])
    expect(segment.getInt32(0)).toBe(42)
    await ended(worker)
    scope.close()
  })

  test('is closed by one handle, and the others throw ScopeClosedError', () => {
    const scope = NativeScope.ofShared()
    const token = scope.share()
    const { scope: other } = ResourceScope.attach(token)
    expect(() => scope.close()).toThrow(/1 other handle$/m)
    expect(() => other.close()).toThrow(ScopeHeldError)
    expect([scope.isAlive, other.isAlive]).toEqual([true, true])
    scope.detach()
    expect([scope.isAlive, other.isAlive]).toEqual([false, true])
    other.close()
    expect(() => scope.close()).toThrow(ScopeClosedError)
    expect(() => other.close()).toThrow(ScopeClosedError)
    expect(() => ResourceScope.attach(token)).toThrow(ScopeClosedError)
  })

  test('stays open in all handles while one of them is held', () => {
    const scope = NativeScope.ofShared()
    const { scope: other } = ResourceScope.attach(scope.share())
    const hold = other.acquire()
    expect(() => other.detach()).toThrow(ScopeHeldError)
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(other.isAlive).toBe(true)
    hold.release()
    other[Symbol.dispose]()
    scope[Symbol.dispose]()
    expect(scope.isAlive).toBe(false)
  })

  test('closeAsync() refuses new handles, and waits for the open ones', async () => {
    const scope = NativeScope.ofShared()
    const token = scope.share()
    const { scope: other } = ResourceScope.attach(token)
    let isClosing = false
    const noticed = other.whenClosing().then(() => (isClosing = true))
    await Promise.resolve()
    expect(isClosing).toBe(false)
    const closed = scope.closeAsync()
    expect(() => ResourceScope.attach(token)).toThrow(ScopeClosedError)
    await noticed
    other.detach()
    await closed
    expect(scope.isAlive).toBe(false)
  })

  test('closeAsync() that misses its deadline opens the scope again', async () => {
    const scope = NativeScope.ofShared()
    const token = scope.share()
    const { scope: other } = ResourceScope.attach(token)
    const pending = scope.closeAsync({ deadline: 1000 })
    await expect(other.closeAsync()).rejects.toThrow(ScopeHeldError)
    await expect(pending).rejects.toThrow(ScopeHeldError)
    const third = ResourceScope.attach(token)
    third.scope.detach()
    other.detach()
    await scope.closeAsync()
  })

  test('closeAsync() waits for a worker that detaches after whenClosing()', async () => {
    const scope = NativeScope.ofShared()
    const worker = startWorker(
      `
      const { scope: attached } = scope.ResourceScope.attach(workerData)
      const keptAlive = setInterval(() => {}, 1000)
      parentPort.postMessage('attached')
      await attached.whenClosing()
      clearInterval(keptAlive)
      attached.detach()
      parentPort.postMessage('detached')
    `,
      scope.share(),
    )
    expect(await nextMessage(worker)).toBe('attached')
    expect(() => scope.close()).toThrow(ScopeHeldError)
    const detached = nextMessage(worker)
    await scope.closeAsync()
    expect(await detached).toBe('detached')
    await ended(worker)
  })

  test('a terminated worker releases its handles', async () => {
    const scope = NativeScope.ofShared()
    const segment = scope.allocate(4)
    const worker = startWorker(`
      parentPort.once('message', (token) => {
        const attached = [1, 2, 3].map(() => scope.ResourceScope.attach(token))
        parentPort.postMessage('attached')
        const [segment] = attached[0].segments
        for (;;) segment.atomicUpdate('int32', 0, 'add', 1)
      })
      parentPort.postMessage('ready')
    `)
    expect(await nextMessage(worker)).toBe('ready')
    const token = scope.share({ segments: [segment], to: worker })
    worker.postMessage(token, [])
    expect(await nextMessage(worker)).toBe('attached')
    expect(() => scope.close()).toThrow(/3 other handles/)
    await worker.terminate()
    await scope.closeAsync()
    expect(scope.isAlive).toBe(false)
  })

  test('a worker terminated while it closes the scope leaves it open', async () => {
    const scope = NativeScope.ofShared()
    // The state that a thread sets while it counts the other handles. A worker can end at that moment.
    const code = `
      parentPort.once('message', ({ token, isSlow }) => {
        const { scope: attached } = scope.ResourceScope.attach(token)
        if (isSlow) void attached.closeAsync()
        else Atomics.store(new Int32Array(token.control), 0, ((threadId + 1) << 2) | 1)
        parentPort.postMessage('in the middle')
        setInterval(() => {}, 1000)
      })
      parentPort.postMessage('ready')
    `
    for (const isSlow of [true, false]) {
      const worker = startWorker(code)
      expect(await nextMessage(worker)).toBe('ready')
      const token = scope.share({ to: worker })
      worker.postMessage({ token, isSlow }, [])
      expect(await nextMessage(worker)).toBe('in the middle')
      expect(() => ResourceScope.attach(token)).toThrow(ScopeClosedError)
      expect(() => scope.close()).toThrow(ScopeHeldError)
      await worker.terminate()
      ResourceScope.attach(token).scope.detach()
    }
    scope.close()
  })

  test('attach() refuses other messages, and leaves no handle behind', () => {
    using scope = NativeScope.ofShared()
    const token = scope.share({ segments: [scope.allocate(8)] })
    const [segment] = token.segments
    const { openScopes } = ResourceScope.stats()
    for (const bad of [
      { control: 1 },
      { name: 1 },
      { control: new SharedArrayBuffer(8) },
      { segments: 1 },
      { segments: [null] },
      { segments: [{ ...segment, buffer: {} }] },
      { segments: [{ ...segment, byteSize: 2 ** 32 }] },
      { segments: [{ ...segment, byteOffset: -1 }] },
      { segments: [{ ...segment, flags: 2 }] },
    ]) {
      expect(() => ResourceScope.attach({ ...token, ...bad } as never)).toThrow(TenonError)
    }
    expect(ResourceScope.stats().openScopes).toBe(openScopes)
  })

  test('allocates in every thread', async () => {
    const scope = NativeScope.ofShared()
    const { scope: other } = ResourceScope.attach(scope.share())
    const [a, b] = [scope.allocate(100).fill(1), other.allocate(100).fill(2)]
    expect([a.getUint8(0), b.getUint8(0)]).toEqual([1, 2])
    other.detach()
    expect(() => b.getUint8(0)).toThrow(ScopeClosedError)
    expect(a.getUint8(0)).toBe(1)
    scope.close()
  })

  test('share() refuses memory that is not shared', () => {
    using scope = NativeScope.ofShared()
    const other = MemorySegment.ofAddress(scope.allocate(8).address).reinterpret(8, scope)
    expect(() => scope.share({ segments: [other] })).toThrow(ArgumentError)
  })

  test('adds one listener to a worker, however often it is shared', async () => {
    const worker = startWorker("parentPort.once('message', () => {})", undefined)
    for (let i = 0; i < 20; i++) NativeScope.ofShared().run((scope) => scope.share({ to: worker }))
    expect(worker.listenerCount('exit')).toBe(1)
    const scopes = Array.from({ length: 3 }, () => NativeScope.ofShared())
    // Handles of a worker that ended without releasing them.
    for (const scope of scopes) new Int32Array(scope.share({ to: worker }).control)[1 + 1] = worker.threadId + 1
    expect(() => scopes[0]!.close()).toThrow(ScopeHeldError)
    await worker.terminate()
    for (const scope of scopes) scope.close()
  })

  test('share() refuses memory of another scope', () => {
    using scope = NativeScope.ofShared()
    using other = NativeScope.ofShared()
    for (const segment of [other.allocate(4), MemorySegment.allocateNative(4), null, {}]) {
      expect(() => scope.share({ segments: [segment as MemorySegment] })).toThrow(ArgumentError)
    }
    for (const token of [null, undefined, 1, {}, { tenon: 'shared-scope' }, { tenon: 'other', segments: [] }]) {
      expect(() => ResourceScope.attach(token as never)).toThrow(ArgumentError)
    }
  })

  test('raw views of shared memory keep working after close', () => {
    const scope = NativeScope.ofShared()
    const segment = scope.allocate(4, 4)
    const view = segment.view()
    scope.close()
    expect(view.getInt32(0)).toBe(0)
    expect(() => segment.getInt32(0)).toThrow(ScopeClosedError)
  })

  describe('whose memory only this thread has had', () => {
    /** The address of the first allocation of a new scope, which closes, and the bytes that it found there. */
    const next = (): { address: bigint; bytes: Uint8Array } => {
      using scope = NativeScope.ofShared()
      const segment = scope.allocate(64)
      return { address: segment.address, bytes: new Uint8Array(segment.toArray(MemoryLayout.uint8) as Uint8Array) }
    }
    /** Uses a new scope, whose first bytes are not zero, and closes it. Returns its address. */
    const use = (action: (scope: SharedScope, segment: MemorySegment) => void): bigint => {
      using scope = NativeScope.ofShared()
      const segment = scope.allocate(64).fill(7)
      scope.allocate(100).fill(8)
      action(scope, segment)
      return segment.address
    }

    test('lends it to the next scope, zeroed, and its own segments stay closed', () => {
      let old: MemorySegment | undefined
      const address = use((_, segment) => (old = segment))
      const { address: again, bytes } = next()
      expect([again === address, bytes.every((byte) => byte === 0)]).toEqual([true, true])
      expect(() => old!.getUint8(0)).toThrow(ScopeClosedError)
    })

    test('lends it to one scope at a time', () => {
      use(() => {})
      using first = NativeScope.ofShared()
      using second = NativeScope.ofShared()
      const [a, b] = [first.allocate(64), second.allocate(64)]
      a.fill(1)
      expect(b.getUint8(0)).toBe(0)
    })

    test.each<[string, (scope: SharedScope, segment: MemorySegment) => void]>([
      ['a token was made', (scope, segment) => void scope.share({ segments: [segment] })],
      ['a token without segments was made', (scope) => void scope.share()],
      ['a raw view was handed out', (_, segment) => void segment.view()],
      ['a typed array was handed out', (_, segment) => void segment.unsafeView(Uint8Array)],
    ])('does not lend it after %s', (_, action) => {
      next()
      const address = use(action)
      expect(next().address).not.toBe(address)
    })
  })

  test('has at most 1023 handles, and throws ScopeHeldError for one more', () => {
    const scope = NativeScope.ofShared()
    const token = scope.share()
    const handles = Array.from({ length: 1022 }, () => ResourceScope.attach(token).scope)
    expect(() => ResourceScope.attach(token)).toThrow(ScopeHeldError)
    for (const handle of handles) handle.detach()
    scope.close()
  })
})

describe('handoff()', () => {
  test('moves the memory to another thread, where its address is the same', async () => {
    for (const scope of [NativeScope.ofConfined({ name: 'moved' }), ResourceScope.ofConfined({ name: 'moved' })]) {
      const segment = MemorySegment.allocateNative(16, 8, scope)
      const { address } = segment
      segment.setInt32(4, 42)
      const view = segment.view()
      const worker = startWorker(`
        parentPort.once('message', (token) => {
          const { scope: moved, segments: [segment] } = scope.ResourceScope.attach(token)
          parentPort.postMessage([segment.getInt32(4), segment.address, moved.kind, moved.name, segment.scope === moved])
          moved.close()
        })
        parentPort.postMessage('ready')
      `)
      await nextMessage(worker)
      const token = scope.handoff([segment])
      expect(scope.isAlive).toBe(false)
      expect(() => segment.getInt32(4)).toThrow(ScopeClosedError)
      expect(() => view.getInt32(4)).toThrow(TypeError)
      worker.postMessage(token, token.transfer as ArrayBuffer[])
      expect(await nextMessage(worker)).toEqual([42, address, 'confined', 'moved', true])
      await worker.terminate()
    }
  })

  test('can be attached once, in the thread that received the message', () => {
    const move = (): HandoffToken => NativeScope.ofConfined().run((scope) => scope.handoff([toCString('abc', scope)]))
    const sent = move()
    structuredClone(sent, { transfer: [...sent.transfer] })
    expect(() => ResourceScope.attach(sent)).toThrow(/a buffer that was transferred away/)
    // Otherwise, closing one scope would free the memory during a native call that uses the other.
    const twice = move()
    const { scope, segments } = ResourceScope.attach(twice)
    expect(() => ResourceScope.attach(twice)).toThrow(/memory of an open scope/)
    expect(strlen(segments[0]!)).toBe(3n)
    scope.close()
    expect(() => ResourceScope.attach(twice)).toThrow(/a buffer that was transferred away/)
    expect(() => strlen(segments[0]!)).toThrow(ScopeClosedError)
  })

  test('separates the memory from the next arena', () => {
    const scope = NativeScope.ofConfined()
    const [a, b] = [scope.allocate(8), scope.allocate(8)]
    a.setInt32(0, 1)
    b.setInt32(0, 2)
    const { scope: again, segments } = ResourceScope.attach(scope.handoff([a, b]))
    using next = NativeScope.ofConfined()
    expect(next.allocate(8).getInt32(0)).toBe(0)
    expect(segments.map((segment) => segment.getInt32(0))).toEqual([1, 2])
    again.close()
  })

  test('refuses memory that cannot move, and the scope stays open', () => {
    using scope = NativeScope.ofConfined()
    using other = NativeScope.ofConfined()
    const segment = scope.allocate(8)
    const hold = scope.acquire()
    expect(() => scope.handoff([segment])).toThrow(ScopeHeldError)
    hold.release()
    for (const bad of [other.allocate(8), null, {}])
      expect(() => scope.handoff([bad as MemorySegment])).toThrow(ArgumentError)
    scope.addCloseAction(() => {})
    expect(() => scope.handoff([segment])).toThrow(ScopeHeldError)
    expect(segment.getInt32(0)).toBe(0)
  })
})
