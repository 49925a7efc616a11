import { ArgumentError, ScopeClosedError, TenonError } from '@tenon/core'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { markAsUntransferable } from 'node:worker_threads'
import { afterAll, describe, expect, test } from 'vitest'
import { type HandoffToken, MemorySegment, NativeScope, ResourceScope, type SharedToken } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'

const strlen = Linker.downcall(SymbolLookup.ofProcess().get('strlen'), { result: 'uint64', parameters: ['pointer'] })
const directory = mkdtempSync(join(tmpdir(), 'tenon-lying-'))
afterAll(() => rmSync(directory, { recursive: true }))

const resizable = (): ArrayBuffer => new ArrayBuffer(64, { maxByteLength: 128 })
const growable = (): SharedArrayBuffer => new SharedArrayBuffer(64, { maxByteLength: 128 })
/** Defines properties that hide those of the engine. */
const lying = <Any extends object>(target: Any, lies: object): Any =>
  Object.defineProperties(target, Object.fromEntries(Object.entries(lies).map(([name, value]) => [name, { value }])))

function tokenOf(fields: object): HandoffToken {
  const segment = { buffer: new ArrayBuffer(64), byteOffset: 0, byteSize: 64, flags: 0, ...fields }
  return { tenon: 'confined-scope', name: undefined, segments: [segment], transfer: [] }
}

describe('buffers of the user', () => {
  test('attach() and ofBuffer() refuse buffers that can shrink, also if they deny it', () => {
    const deny = { resizable: false, growable: false }
    for (const buffer of [resizable(), growable(), lying(resizable(), deny), lying(growable(), deny)]) {
      expect(() => MemorySegment.ofBuffer(buffer)).toThrow(/must have a fixed size, got a resizable buffer/)
      expect(() => MemorySegment.ofBuffer(new Uint8Array(buffer))).toThrow(/must have a fixed size/)
      expect(() => ResourceScope.attach(tokenOf({ buffer }))).toThrow(/must have a fixed size/)
      const { control } = ResourceScope.ofShared().share()
      const shared: SharedToken = { ...tokenOf({ buffer }), tenon: 'shared-scope', control }
      expect(() => ResourceScope.attach(shared)).toThrow(/must have a fixed size/)
    }
    expect(ResourceScope.stats().openScopes).toBeGreaterThan(0)
  })

  test('ofBuffer() uses the range of a view that the engine knows', () => {
    const view = lying(new Uint8Array(new ArrayBuffer(64), 8, 16), {
      byteLength: 4096,
      byteOffset: 60,
      buffer: new ArrayBuffer(1),
    })
    const segment = MemorySegment.ofBuffer(view)
    view[15] = 7
    expect([segment.byteSize, segment.getUint8(15)]).toEqual([16, 7])
    expect(MemorySegment.ofBuffer(lying(new DataView(new ArrayBuffer(64), 8, 16), { byteLength: 99 })).byteSize).toBe(
      16,
    )
  })

  test('ofBuffer() refuses a proxy of a buffer', () => {
    for (const target of [
      new ArrayBuffer(8),
      new SharedArrayBuffer(8),
      new Uint8Array(8),
      new DataView(new ArrayBuffer(8)),
    ]) {
      expect(() => MemorySegment.ofBuffer(new Proxy(target, {}))).toThrow(ArgumentError)
    }
  })
})

describe('buffers of raw views', () => {
  test('a scope detaches them at close, also if their properties are hidden', () => {
    const scope = ResourceScope.ofConfined()
    const view = MemorySegment.allocateNative(64, 8, scope).view()
    lying(view.buffer, { transfer: () => view.buffer, detached: true })
    scope.close()
    expect(() => view.getUint8(0)).toThrow(TypeError)
  })

  test('a call refuses memory whose buffer was transferred, also if the buffer denies it', () => {
    using scope = ResourceScope.ofConfined()
    const segment = MemorySegment.allocateNative(64, 8, scope)
    const { buffer } = segment.view()
    structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
    lying(buffer, { detached: false })
    expect(() => strlen(segment)).toThrow(ScopeClosedError)
    expect(() => segment.fill(1)).toThrow(ScopeClosedError)
  })

  if (process.platform !== 'win32') {
    test('a mapping stays mapped if its buffer cannot be detached', () => {
      const path = join(directory, 'file')
      writeFileSync(path, 'abc')
      const scope = ResourceScope.ofConfined()
      const other = MemorySegment.allocateNative(8, 8, scope)
      const view = MemorySegment.mapFile(path, scope, { access: 'copy' }).view()
      markAsUntransferable(view.buffer)
      const otherView = other.view()
      const { liveBytes } = ResourceScope.stats()
      scope.close()
      expect(ResourceScope.stats().liveBytes).toBeLessThan(liveBytes)
      expect(() => otherView.getUint8(0)).toThrow(TypeError)
      // In Node.js 22, such a buffer can be detached.
      if (view.buffer.byteLength > 0) expect(view.getUint8(0)).toBe(0x61)
    })
  }
})

describe('messages', () => {
  test('attach() reads each property once', () => {
    const values: Record<string, unknown[]> = { byteOffset: [0, 1e9], byteSize: [64, 1e9], flags: [1, 0] }
    const buffer = new ArrayBuffer(64)
    const reads: string[] = []
    const segment = new Proxy(
      { buffer, byteOffset: 0, byteSize: 0, flags: 0 },
      {
        get(_, name) {
          reads.push(String(name))
          return name === 'buffer' ? buffer : values[String(name)]!.shift()
        },
      },
    )
    const { scope, segments } = ResourceScope.attach({ ...tokenOf({}), segments: [segment] })
    expect(reads).toEqual(['buffer', 'byteOffset', 'byteSize', 'flags'])
    expect([segments[0]!.byteSize, segments[0]!.readOnly]).toEqual([64, true])
    scope.close()
  })

  test('attach() refuses ranges and flags that are not numbers', () => {
    for (const fields of [
      { byteOffset: -1 },
      { byteOffset: 60 },
      { byteSize: undefined },
      { byteSize: '64' },
      { byteSize: 65 },
      { flags: undefined },
      { flags: '0' },
      { flags: 2 },
      { flags: 1.5 },
      { buffer: null },
      { buffer: new Proxy(new ArrayBuffer(64), {}) },
    ]) {
      expect(() => ResourceScope.attach(tokenOf(fields)), JSON.stringify(fields)).toThrow(TenonError)
    }
    for (const name of [7, {}, '']) {
      expect(() => ResourceScope.attach({ ...tokenOf({}), name: name as string })).toThrow(ArgumentError)
    }
  })

  test('attach() refuses the memory of an open scope, which closing would free during a call', () => {
    using scope = NativeScope.ofConfined()
    const { buffer } = scope.allocate(64).view()
    expect(() => ResourceScope.attach(tokenOf({ buffer }))).toThrow(/memory of an open scope/)
    expect((buffer as ArrayBuffer).detached).toBe(false)
  })

  test('handoff() moves the memory that it has checked, and no other', () => {
    using other = NativeScope.ofConfined()
    const [mine, others] = [NativeScope.ofConfined(), other.allocate(64)]
    const own = mine.allocate(64)
    let reads = 0
    const changing = new Proxy(own, {
      get: (target, name) =>
        name === 'block' ? (reads++ === 0 ? own.block : others.block) : Reflect.get(target, name, target),
    })
    mine.handoff([changing])
    expect(mine.isAlive).toBe(false)
    others.setUint8(0, 1)
    expect(others.getUint8(0)).toBe(1)
  })

  test('share() and handoff() check that the scope is open after they have read their arguments', () => {
    const shared = ResourceScope.ofShared()
    const closing = {
      get segments() {
        shared.close()
        return []
      },
    }
    expect(() => shared.share(closing)).toThrow(ScopeClosedError)
    const scope = NativeScope.ofConfined()
    const segments = new Proxy([scope.allocate(8)], {
      get: (target, name) => {
        if (name === 'length' && scope.isAlive) scope.close()
        return Reflect.get(target, name) as unknown
      },
    })
    expect(() => scope.handoff(segments)).toThrow(ScopeClosedError)
  })
})
