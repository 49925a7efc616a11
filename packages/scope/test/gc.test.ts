import { channel } from 'node:diagnostics_channel'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope, type ScopeEvent, type SharedToken } from '../src/index.ts'

/** Collects garbage until `isDone`, for at most 200 rounds. */
async function collect(isDone: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !isDone(); i++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe('an implicit scope', () => {
  test('runs its actions when it and its memory are collected', async () => {
    let ran = 0
    const open = (): void => {
      for (let i = 0; i < 100; i++) {
        const scope = ResourceScope.ofImplicit()
        MemorySegment.allocateNative(64, 8, scope)
        scope.addCloseAction(() => ran++)
      }
    }
    open()
    await collect(() => ran === 100)
    expect(ran).toBe(100)
  })

  test('runs no actions while a segment or a raw view of its memory is reachable', async () => {
    let ran = 0
    const open = (): unknown[] => {
      const [one, other] = [ResourceScope.ofImplicit(), ResourceScope.ofImplicit()]
      const segment = MemorySegment.allocateNative(64, 8, one)
      one.addCloseAction(() => ran++)
      const view = MemorySegment.allocateNative(64, 8, other).unsafeView(Uint8Array)
      other.addCloseAction(() => ran++)
      return [segment.asSlice(8), view]
    }
    let kept: unknown[] | undefined = open()
    for (let i = 0; i < 10; i++) {
      globalThis.gc!()
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect([ran, kept.length]).toEqual([0, 2])
    kept = undefined
    await collect(() => ran === 2)
    expect(ran).toBe(2)
  })
})

describe('a managed scope', () => {
  test('runs its actions once when it is collected, and is reported as a leak', async () => {
    const leaks: string[] = []
    const listener = (event: unknown): number => leaks.push((event as ScopeEvent).name!)
    channel('tenon:scope:leak').subscribe(listener)
    const { openScopes, liveBytes } = ResourceScope.stats()
    let ran = 0
    const open = (): void => {
      for (let i = 0; i < 20; i++) {
        const scope = NativeScope.ofConfined({ managed: true, name: 'dropped' })
        // The arena gives its first memory back if that is too small.
        scope.allocate(i % 2 === 0 ? 64 : 4096)
        scope.addCloseAction(() => ran++)
      }
    }
    open()
    await collect(() => ran === 20)
    channel('tenon:scope:leak').unsubscribe(listener)
    expect([ran, leaks.length, leaks[0]]).toEqual([20, 20, 'dropped'])
    expect(ResourceScope.stats()).toMatchObject({ openScopes, liveBytes })
  })

  test('unmaps its files when it is collected, and releases its handle of a shared scope', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'tenon-dropped-')), 'file')
    writeFileSync(path, 'hello')
    let ran = 0
    const drop = (): SharedToken => {
      for (let i = 0; i < 10; i++) {
        const scope = NativeScope.ofConfined({ managed: true })
        MemorySegment.mapFile(path, scope)
        scope.addCloseAction(() => ran++)
      }
      const shared = NativeScope.ofShared({ managed: true })
      shared.addCloseAction(() => ran++)
      return shared.share()
    }
    const token = drop()
    await collect(() => ran === 11)
    if (process.platform === 'linux') expect(readFileSync('/proc/self/maps', 'utf8')).not.toContain(path)
    const { scope } = ResourceScope.attach(token)
    scope.close()
    expect(ran).toBe(11)
    rmSync(dirname(path), { recursive: true })
  })

  test('runs its actions only once if it is closed', async () => {
    let ran = 0
    const open = (): void => {
      for (let i = 0; i < 20; i++) {
        const scope = ResourceScope.ofConfined({ managed: true })
        MemorySegment.allocateNative(64, 8, scope)
        scope.addCloseAction(() => ran++)
        scope.close()
      }
    }
    open()
    for (let i = 0; i < 20; i++) {
      globalThis.gc!()
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect(ran).toBe(20)
  })

  test('runs an action that refers to the scope or a segment only when it is closed', async () => {
    let [ran, kept] = [0, 0]
    const scopes: WeakRef<ResourceScope>[] = []
    const open = (): void => {
      for (let i = 0; i < 10; i++) {
        ResourceScope.ofConfined({ managed: true }).addCloseAction(() => ran++)
        const scope = ResourceScope.ofConfined({ managed: true })
        const segment = MemorySegment.allocateNative(8, 8, scope)
        scope.addCloseAction(() => (kept += i % 2 === 0 ? segment.byteSize : Number(scope.isAlive)))
        scopes.push(new WeakRef(scope))
      }
    }
    open()
    await collect(() => ran === 10)
    expect([ran, kept]).toEqual([10, 0])
    for (const scope of scopes) scope.deref()!.close()
    expect(kept).toBeGreaterThan(0)
  })

  test('keeps a root scope open until it is collected', async () => {
    const root = ResourceScope.ofConfined()
    const open = (): void => {
      for (let i = 0; i < 100; i++) {
        const child = ResourceScope.ofImplicit()
        const hold = root.acquire()
        child.addCloseAction(() => hold.release())
      }
    }
    open()
    expect(() => root.close()).toThrow(/100 holds/)
    await root.closeAsync({ deadline: 0 }).catch(() => {})
    await collect(() => ResourceScope.stats().holds === 0)
    root.close()
  })
})
