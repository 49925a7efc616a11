import { AllocationError, ArgumentError, ScopeClosedError, TenonError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub } from '../src/linker.ts'

const { int32, int64, float64, address, struct } = MemoryLayout
const libc = SymbolLookup.ofProcess()
const qsort = Linker.downcall(libc.get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
const div = struct({ quot: int32, rem: int32 })
const compareInts = { result: 'int32', parameters: ['pointer', 'pointer'] } as const
const byValue = (a: MemorySegment, b: MemorySegment): number =>
  a.reinterpret(4).getInt32(0) - b.reinterpret(4).getInt32(0)

function dead(): MemorySegment {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(16)
  scope.close()
  return segment
}

describe('structs by value', () => {
  test('are returned in memory of the allocator, which is called once', () => {
    using scope = NativeScope.ofConfined()
    const divide = Linker.downcall(libc.get('div'), { result: div, parameters: ['int32', 'int32'] })
    const requests: unknown[] = []
    const result = divide(
      (size: number, alignment: number) => {
        requests.push([size, alignment])
        return scope.allocate(size, alignment)
      },
      17,
      5,
    ) as MemorySegment
    expect(requests).toEqual([[8, 4]])
    expect([result.getInt32(0), result.getInt32(4), result.scope]).toEqual([3, 2, scope])
    // @ts-expect-error: the arguments are missing
    expect(() => divide()).toThrow(ArgumentError)
    // @ts-expect-error: null is no allocator
    expect(() => divide(null, 1, 2)).toThrow(ArgumentError)
    // @ts-expect-error: an argument is missing
    expect(() => divide(scope, 1)).toThrow(ArgumentError)
    expect(() => divide(() => MemorySegment.allocateNative(4), 1, 2)).toThrow(AllocationError)
  })

  test('are passed in both directions', () => {
    using scope = NativeScope.ofConfined()
    const inner = struct({ p: address, n: int64 })
    const layouts = [
      div,
      struct({ a: float64, b: float64 }),
      inner,
      struct({ a: MemoryLayout.int8, inner, values: MemoryLayout.sequence(float64, 3) }),
      struct({ a: MemoryLayout.int8, _: MemoryLayout.padding(3), b: int32 }),
      struct({ a: MemoryLayout.int8, packed: float64.withByteAlignment(1), b: int32.withByteAlignment(1) }),
      struct({ rows: MemoryLayout.sequence(MemoryLayout.sequence(MemoryLayout.float32, 2), 2) }),
    ]
    for (const layout of layouts) {
      let copy: MemorySegment | undefined
      const stub = upcallStub(
        (value: MemorySegment) => {
          copy = scope.allocate(value.byteSize).copyFrom(value)
          return value
        },
        { result: layout, parameters: [layout] },
        scope,
      )
      const call = Linker.downcall(stub, { result: layout, parameters: [layout] })
      const value = scope.allocate(layout.byteSize!, 8)
      for (const { name, layout: member, byteOffset } of layout.members) {
        if (name !== '_') value.setUint8(byteOffset, member.byteAlignment)
      }
      const back = call(scope, value) as MemorySegment
      expect([back.mismatch(value), copy!.mismatch(value)]).toEqual([-1, -1])
      expect(() => call(scope, scope.allocate(4))).toThrow(ArgumentError)
      expect(() => call(scope, dead())).toThrow(TenonError)
    }
  })

  test('with an open sequence are refused', () => {
    expect(() =>
      Linker.downcall(libc.get('abs'), { parameters: [struct({ s: MemoryLayout.sequence(int32) })] }),
    ).toThrow(ArgumentError)
  })
})

describe('a stub', () => {
  test('ends with its scope', () => {
    const scope = ResourceScope.ofConfined()
    const numbers = MemorySegment.allocateNative(8, 4)
    const before = ResourceScope.stats().liveStubs
    const compare = upcallStub(byValue, compareInts, scope)
    expect([compare.byteSize, compare.scope]).toEqual([0, scope])
    expect(ResourceScope.stats().liveStubs).toBe(before + 1)
    qsort(numbers, 2, 4, compare)
    scope.close()
    expect(ResourceScope.stats().liveStubs).toBe(before)
    expect(() => qsort(numbers, 2, 4, compare)).toThrow(ScopeClosedError)
    expect(() => Linker.downcall(compare, {})).toThrow(ScopeClosedError)
    expect(() => upcallStub(byValue, compareInts, scope)).toThrow(ScopeClosedError)
  })

  test('is still called by a call on another thread while closeAsync() waits for that call', async () => {
    const scope = ResourceScope.ofConfined()
    const compare = upcallStub(byValue, compareInts, scope)
    using memory = NativeScope.ofConfined()
    const numbers = NativeAllocator.allocateFrom(memory, int32, 3, 1, 2)
    const sorted = qsort.async(numbers, 3, 4, compare)
    const closed = scope.closeAsync()
    await Promise.all([sorted, closed])
    expect(numbers.toArray(int32)).toEqual(new Int32Array([1, 2, 3]))
  })

  test('is still called by native code that a close action calls', () => {
    const scope = ResourceScope.ofConfined()
    const stored = MemorySegment.ofAddress(upcallStub(byValue, compareInts, scope).address)
    using memory = NativeScope.ofConfined()
    const numbers = NativeAllocator.allocateFrom(memory, int32, 3, 1, 2)
    scope.addCloseAction(() => qsort(numbers, 3, 4, stored))
    scope.close()
    expect(numbers.toArray(int32)).toEqual(new Int32Array([1, 2, 3]))
  })

  test('requires a function, a signature and a scope with close()', () => {
    using scope = ResourceScope.ofConfined()
    for (const run of [null, undefined, 1, {}])
      expect(() => upcallStub(run as never, compareInts, scope)).toThrow(ArgumentError)
    for (const signature of [null, undefined, 1])
      expect(() => upcallStub(byValue, signature as never, scope)).toThrow(ArgumentError)
    for (const type of [null, 'int', 'void', {}, 1])
      expect(() => upcallStub(byValue, { parameters: [type as never] }, scope)).toThrow(ArgumentError)
    expect(() => upcallStub(byValue, { parameters: new Array<'pointer'>(2) }, scope)).toThrow(ArgumentError)
    for (const result of [null, 'int', {}, 1])
      expect(() => upcallStub(byValue, { result: result as never }, scope)).toThrow(ArgumentError)
    for (const owner of [null, undefined, {}, ResourceScope.global, ResourceScope.ofImplicit()]) {
      expect(() => upcallStub(byValue, compareInts, owner as never)).toThrow(ArgumentError)
    }
  })

  test('closes the structs passed to it when it returns', () => {
    using scope = NativeScope.ofConfined()
    let kept: MemorySegment | undefined
    const stub = upcallStub(
      (value: MemorySegment) => {
        kept = value
        expect(value.getInt32(4)).toBe(2)
      },
      { parameters: [div] },
      scope,
    )
    Linker.downcall(stub, { parameters: [div] })(NativeAllocator.allocateFrom(scope, int32, 1, 2))
    expect(() => kept!.getInt32(0)).toThrow(ScopeClosedError)
  })

  test('returns 0 when its function throws, and the call throws the error once', () => {
    using scope = NativeScope.ofConfined()
    const numbers = NativeAllocator.allocateFrom(scope, int32, 5, 4, 3, 2, 1)
    const error = new Error('mine')
    let runs = 0
    const compare = upcallStub(
      () => {
        runs++
        throw error
      },
      compareInts,
      scope,
    )
    expect(() => qsort(numbers, 5, 4, compare)).toThrow(error)
    expect(runs).toBeGreaterThan(0)
    qsort(numbers, 5, 4, upcallStub(byValue, compareInts, scope))
    expect(numbers.toArray(int32)).toEqual(new Int32Array([1, 2, 3, 4, 5]))
  })

  test('makes the call throw if its result does not fit', () => {
    using scope = NativeScope.ofConfined()
    const numbers = NativeAllocator.allocateFrom(scope, int32, 2, 1)
    for (const result of ['a', undefined, 0.5, 2 ** 31, {}]) {
      expect(() =>
        qsort(
          numbers,
          2,
          4,
          upcallStub(() => result as never, compareInts, scope),
        ),
      ).toThrow(ArgumentError)
    }
  })

  test('may be one of many, beyond those that are part of the library', () => {
    const scope = ResourceScope.ofConfined()
    const stubs = Array.from({ length: 9000 }, (_, i) =>
      upcallStub((x: number) => x + i, { result: 'int32', parameters: ['int32'] }, scope),
    )
    const results = stubs.map((stub) => Linker.downcall(stub, { result: 'int32', parameters: ['int32'] })(1))
    expect(results).toEqual(Array.from({ length: 9000 }, (_, i) => i + 1))
    scope.close()
  })

  test('makes the call throw if it returns closed memory, which C does not read', () => {
    using scope = NativeScope.ofConfined()
    for (const result of ['pointer', div] as const) {
      const stub = upcallStub(() => dead().asSlice(0, 8), { result }, scope)
      const call = Linker.downcall(stub, { result })
      expect(() => (call as (...allocators: unknown[]) => unknown)(...(result === div ? [scope] : []))).toThrow(
        ScopeClosedError,
      )
    }
    const divide = Linker.downcall(libc.get('div'), { result: div, parameters: ['int32', 'int32'] })
    expect(() => divide(() => MemorySegment.allocateNative(8).asReadOnly(), 1, 1)).toThrow(TenonError)
    expect(() => divide(() => dead().asSlice(0, 8), 1, 1)).toThrow(ScopeClosedError)
  })

  test('a proxy of a segment cannot replace its memory by memory that is closed', () => {
    using scope = NativeScope.ofConfined()
    const triple = struct({ a: int64, b: int64, c: int64 })
    for (const layout of [div, triple]) {
      const signature = { result: layout, parameters: [layout] } as const
      const size = layout.byteSize!
      const identity = Linker.downcall(
        upcallStub((value: MemorySegment) => value, signature, scope),
        signature,
      )
      for (let closing = 1; closing < 12; closing++) {
        const own = NativeScope.ofConfined()
        const other = own.allocate(size, 8).fill(3)
        let [reads, reused] = [0, undefined as MemorySegment | undefined]
        /** Returns closed memory when its block is read for the time `closing`. */
        const proxyOf = (segment: MemorySegment): MemorySegment =>
          new Proxy(segment, {
            get(target, key) {
              if (key !== 'block' || ++reads !== closing) return Reflect.get(target, key, target) as unknown
              const { block } = other
              own.close()
              reused = NativeScope.ofConfined().allocate(size, 8)
              return block
            },
          })
        const target = scope.allocate(size, 8)
        try {
          const result = identity(() => proxyOf(target), proxyOf(scope.allocate(size, 8).fill(1)))
          expect(result.byteSize).toBe(size)
          expect(target.getInt8(0)).toBe(1)
        } catch (error) {
          expect(error).toBeInstanceOf(ScopeClosedError)
        }
        expect(reused === undefined || reused.mismatch(scope.allocate(size)) === -1).toBe(true)
      }
    }
  })

  test('a proxy cannot close the memory of a result before it is copied', () => {
    using scope = NativeScope.ofConfined()
    for (const key of ['flags', 'byteSize', 'base']) {
      const stub = upcallStub(
        () => {
          const own = ResourceScope.ofConfined()
          const mapped = MemorySegment.mapFile(import.meta.filename, own, { byteSize: 8 })
          return new Proxy(mapped, {
            get(target, name) {
              const value: unknown = Reflect.get(target, name, target)
              if (name === key && own.isAlive) own.close()
              return value
            },
          })
        },
        { result: div },
        scope,
      )
      expect(() => Linker.downcall(stub, { result: div })(scope)).toThrow(ScopeClosedError)
    }
  })

  test('takes up to 255 arguments, and more are refused', () => {
    using scope = ResourceScope.ofConfined()
    const signature = (count: number) =>
      ({ result: 'int32', parameters: new Array<'int32'>(count).fill('int32') }) as const
    const sum = (...values: number[]): number => values.reduce((a, b) => a + b, 0)
    const values = Array.from({ length: 255 }, (_, i) => i)
    const stub = upcallStub(sum as never, signature(255), scope)
    expect(Linker.downcall(stub, signature(255))(...values)).toBe(32_385)
    expect(() => upcallStub(sum as never, signature(256), scope)).toThrow(ArgumentError)
    expect(() => Linker.downcall(stub, signature(256))).toThrow(ArgumentError)
  })

  test('that is refused in an asynchronous call makes the call reject, and not go on with a wrong result', async () => {
    using scope = NativeScope.ofConfined()
    const sleep = Linker.downcall(libc.get('usleep'), { result: 'int32', parameters: ['uint32'] })
    const stubs = (['relay', 'refuse', 'wait'] as const).map((foreignThread) =>
      upcallStub(byValue, compareInts, scope, { foreignThread }),
    )
    const array = NativeAllocator.allocateFrom(scope, int32, 3, 1, 2)
    const sorts = stubs.map((stub) => qsort.async(scope.allocate(12, 4).copyFrom(array), 3, 4, stub))
    const outcomes = Promise.allSettled(sorts)
    sleep(300_000)
    const [relayed, refused, waited] = await outcomes
    expect(relayed).toMatchObject({ status: 'rejected', reason: { code: 'TENON_NATIVE' } })
    expect(String((relayed as PromiseRejectedResult).reason)).toMatch(/did not run: .* in a native call/)
    // The function asked for the refusal, or has waited.
    expect([refused!.status, waited!.status]).toEqual(['fulfilled', 'fulfilled'])
  })
})
