import { AllocationError, ArgumentError, LoadError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub, VaList, type NativeType } from '../src/linker.ts'

const { int32, int64, float64, address, struct } = MemoryLayout
const libc = SymbolLookup.ofProcess()
const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['pointer'] })
const qsort = Linker.downcall(libc.get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
const div = struct({ quot: int32, rem: int32 })
const compareInts = { result: 'int32', parameters: ['pointer', 'pointer'] } as const
const byValue = (a: MemorySegment, b: MemorySegment): number => a.reinterpret(4).getInt32(0) - b.reinterpret(4).getInt32(0)

function dead(): MemorySegment {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(16)
  scope.close()
  return segment
}

describe('a call', () => {
  test('S54: refuses dead memory, and holds what it uses', () => {
    expect(() => strlen(dead())).toThrow(ScopeClosedError)
    const scope = NativeScope.ofConfined()
    const numbers = NativeAllocator.allocateFrom(scope, int32, 3, 1, 2)
    const stubs = ResourceScope.ofConfined()
    const errors: unknown[] = []
    const compare = upcallStub(
      (a: MemorySegment, b: MemorySegment) => {
        for (const used of [scope, stubs]) {
          try {
            used.close()
          } catch (error) {
            errors.push(error)
          }
        }
        return byValue(a, b)
      },
      compareInts,
      stubs,
    )
    qsort(numbers, 3, 4, compare)
    expect(numbers.toArray(int32)).toEqual(new Int32Array([1, 2, 3]))
    expect(errors.length).toBeGreaterThan(1)
    expect(errors.every((error) => error instanceof ScopeHeldError)).toBe(true)
    stubs.close()
    scope.close()
  })

  test('S55: that is refused holds nothing', () => {
    const memcpy = Linker.downcall(libc.get('memcpy'), { result: 'pointer', parameters: ['pointer', 'pointer', 'uint64'] })
    for (const [at, bad] of [[0, dead()], [1, dead()], [2, -1], [2, null], [1, 16n], [0, Buffer.alloc(8)]] as const) {
      const scopes = [NativeScope.ofConfined(), NativeScope.ofConfined()]
      const values: unknown[] = [...scopes.map((scope) => scope.allocate(8)), 8]
      values[at] = bad
      expect(() => memcpy(...(values as never[]))).toThrow()
      for (const scope of scopes) scope.close()
    }
  })

  test('checks every argument', () => {
    const abs = Linker.downcall(libc.get('abs'), { result: 'int32', parameters: ['int32'] })
    expect(abs(-5)).toBe(5)
    for (const value of [2 ** 31, -(2 ** 31) - 1, 0.5, Number.NaN, null, undefined, '1', 2n ** 31n, {}, true]) {
      expect(() => abs(value as number), String(value)).toThrow(ArgumentError)
    }
    expect(() => abs()).toThrow(ArgumentError)
    expect(() => abs(1, 2)).toThrow(ArgumentError)
    for (const value of [1, 1n, 'a', undefined, Buffer.alloc(4), {}]) expect(() => strlen(value as never)).toThrow(ArgumentError)
  })

  test('refuses memory that was transferred away', () => {
    using scope = NativeScope.ofConfined()
    const text = toCString('hello', scope)
    const moved = (text.view().buffer as ArrayBuffer).transfer()
    expect(() => strlen(text)).toThrow(ScopeClosedError)
    expect(moved.byteLength).toBeGreaterThan(0)
    const buffer = new Uint8Array([65, 0])
    const heap = MemorySegment.ofBuffer(buffer)
    expect(strlen(heap)).toBe(1n)
    buffer.buffer.transfer()
    expect(() => strlen(heap)).toThrow(ScopeClosedError)
  })

  test('S31: gives pointers back without memory', () => {
    const strchr = Linker.downcall(libc.get('strchr'), { result: 'pointer', parameters: ['pointer', 'int32'] })
    using scope = NativeScope.ofConfined()
    const text = toCString('hello', scope)
    const found = strchr(text, 0x6c) as MemorySegment
    expect([found.byteSize, found.address - text.address]).toEqual([0, 2n])
    expect(() => found.getUint8(0)).toThrow(RangeError)
    expect(found.reinterpret(4).getString(0)).toBe('llo')
    expect((strchr(text, 0x78) as MemorySegment).equals(MemorySegment.NULL)).toBe(true)
  })

  test('takes null for a pointer, and refuses a null function', () => {
    const free = Linker.downcall(libc.get('free'), { parameters: ['pointer'] })
    expect(free(null)).toBeUndefined()
    expect(free(MemorySegment.NULL)).toBeUndefined()
    expect(() => Linker.downcall(MemorySegment.NULL, {})).toThrow(ArgumentError)
    for (const symbol of [null, undefined, 1n, {}]) expect(() => Linker.downcall(symbol as never, {})).toThrow(ArgumentError)
  })

  test('S60: refuses signatures that can not be', () => {
    const symbol = libc.get('snprintf')
    for (const signature of [null, undefined, 1, [], { parameters: 1 }, { parameters: ['int'] }, { result: 'string' }, { parameters: [null] }]) {
      expect(() => Linker.downcall(symbol, signature as never), String(signature)).toThrow(ArgumentError)
    }
    for (const type of ['bool', 'int8', 'uint16', 'float32'] as const) {
      expect(() => Linker.downcall(symbol, { parameters: ['pointer', type], fixedParameters: 1 })).toThrow(/passes it as/)
    }
    for (const fixedParameters of [-1, 0.5, 2]) {
      expect(() => Linker.downcall(symbol, { parameters: ['pointer'], fixedParameters })).toThrow(ArgumentError)
    }
  })

  test('passes values unchanged, for every kind and number of parameters', () => {
    using scope = NativeScope.ofConfined()
    const kinds: readonly (readonly [NativeType, unknown])[] = [
      ['bool', true], ['int8', -128], ['uint8', 255], ['int16', -32768], ['uint16', 65535], ['int32', -(2 ** 31)], ['uint32', 2 ** 32 - 1],
      ['int64', -(2n ** 63n)], ['uint64', 2n ** 64n - 1n], ['float32', 1.5], ['float64', Math.PI], ['pointer', scope.allocate(8)],
    ]
    for (let count = 1; count <= 12; count++) {
      const chosen = Array.from({ length: count }, (_, i) => kinds[(i * 5 + count) % kinds.length]!)
      const [resultType, resultValue] = kinds[count % kinds.length]!
      const seen: unknown[] = []
      const stub = upcallStub(
        (...values: never[]) => {
          seen.push(...values)
          return resultValue as never
        },
        { result: resultType, parameters: chosen.map(([type]) => type) },
        scope,
      )
      const call = Linker.downcall(stub, { result: resultType, parameters: chosen.map(([type]) => type) })
      const plain = (value: unknown): unknown => (value instanceof MemorySegment ? value.address : value)
      expect(plain(call(...chosen.map(([, value]) => value as never)))).toEqual(plain(resultValue))
      expect(seen.map(plain)).toEqual(chosen.map(([, value]) => plain(value)))
    }
  })

  test('captures errno', () => {
    using scope = NativeScope.ofConfined()
    const open = Linker.downcall(libc.get('open'), { result: 'int32', parameters: ['pointer', 'int32'] }, { captureErrno: true })
    expect(open(toCString('/no/such/file', scope), 0)).toEqual({ value: -1, errno: 2 })
    expect(open(toCString('/etc/passwd/x', scope), 0)).toEqual({ value: -1, errno: 20 })
  })

  test('S60: passes variadic arguments', () => {
    using scope = NativeScope.ofConfined()
    const buffer = scope.allocate(100)
    const print = (format: string, types: readonly NativeType[], values: readonly unknown[]): string => {
      const call = Linker.downcall(libc.get('snprintf'), { result: 'int32', parameters: ['pointer', 'uint64', 'pointer', ...types], fixedParameters: 3 })
      call(buffer, 100, toCString(format, scope), ...(values as never[]))
      return buffer.getString(0)
    }
    expect(print('plain', [], [])).toBe('plain')
    expect(print('%d %d', ['int32', 'int32'], [1, -2])).toBe('1 -2')
    expect(print('%d %g %s %lld', ['int32', 'float64', 'pointer', 'int64'], [1, 1.5, toCString('x', scope), 2n ** 40n])).toBe('1 1.5 x 1099511627776')
    expect(print('%g %g %g %g %g %g %g %g %g', new Array<NativeType>(9).fill('float64'), [1, 2, 3, 4, 5, 6, 7, 8, 9.5])).toBe('1 2 3 4 5 6 7 8 9.5')
  })
})

describe('a call on another thread', () => {
  test('holds what it uses until it has returned', async () => {
    const usleep = Linker.downcall(libc.get('usleep'), { result: 'int32', parameters: ['uint32'] })
    expect(await usleep.async(1)).toBe(0)
    const scope = NativeScope.ofConfined()
    const text = toCString('hello', scope)
    const pending = strlen.async(text)
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(await pending).toBe(5n)
    scope.close()
    expect(() => strlen.async(text)).toThrow(ScopeClosedError)
    expect(() => strlen.async(1 as never)).toThrow(ArgumentError)
  })

  test('keeps memory that the caller forgets', async () => {
    const pending: Promise<unknown>[] = []
    for (let i = 0; i < 200; i++) {
      pending.push(strlen.async(MemorySegment.allocateNative(64 * 1024).fill(0x41).setString(1000, 'x') ?? MemorySegment.ofBuffer(new Uint8Array([0x41, 0]))))
      if (i % 50 === 0) globalThis.gc?.()
    }
    expect(new Set(await Promise.all(pending))).toEqual(new Set([1n]))
  })

  test('closeAsync() waits for it', async () => {
    const scope = NativeScope.ofConfined()
    const pending = strlen.async(toCString('hello', scope))
    await scope.closeAsync()
    expect(await pending).toBe(5n)
  })
})

describe('structs by value', () => {
  test('S25: are returned into memory of the allocator, which is asked once', () => {
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
    expect(() => divide()).toThrow(ArgumentError)
    expect(() => divide(null, 1, 2)).toThrow(ArgumentError)
    expect(() => divide(scope, 1)).toThrow(ArgumentError)
    expect(() => divide(() => MemorySegment.allocateNative(4), 1, 2)).toThrow(AllocationError)
  })

  test('are passed both ways', () => {
    using scope = NativeScope.ofConfined()
    const inner = struct({ p: address, n: int64 })
    const layouts = [div, struct({ a: float64, b: float64 }), inner, struct({ a: MemoryLayout.int8, inner, values: MemoryLayout.sequence(float64, 3) })]
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
      for (const { layout: member, byteOffset } of layout.members) value.setUint8(byteOffset, member.byteAlignment)
      const back = call(scope, value) as MemorySegment
      expect([back.mismatch(value), copy!.mismatch(value)]).toEqual([-1, -1])
      expect(() => call(scope, scope.allocate(4))).toThrow(ArgumentError)
      expect(() => call(scope, dead())).toThrow()
    }
  })

  test('that C lays out otherwise are refused', () => {
    const odd = struct({ a: MemoryLayout.int8, _: MemoryLayout.padding(3), b: int32 })
    expect(() => Linker.downcall(libc.get('abs'), { parameters: [odd] })).toThrow(ArgumentError)
    expect(() => Linker.downcall(libc.get('abs'), { parameters: [struct({ u: MemoryLayout.union({ a: int32 }) })] })).toThrow(ArgumentError)
    expect(() => Linker.downcall(libc.get('abs'), { parameters: [struct({ s: MemoryLayout.sequence(int32) })] })).toThrow()
  })
})

describe('a stub', () => {
  test('S56: belongs to its scope', () => {
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

  test('S56: needs a function, a signature and a scope that is closed by hand', () => {
    using scope = ResourceScope.ofConfined()
    for (const run of [null, undefined, 1, {}]) expect(() => upcallStub(run as never, compareInts, scope)).toThrow(ArgumentError)
    for (const signature of [null, undefined, 1]) expect(() => upcallStub(byValue, signature as never, scope)).toThrow(ArgumentError)
    for (const owner of [null, undefined, {}, ResourceScope.global, ResourceScope.ofImplicit()]) {
      expect(() => upcallStub(byValue, compareInts, owner as never)).toThrow(ArgumentError)
    }
  })

  test('S57: a struct that it was passed is dead afterwards', () => {
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

  test('S58: that throws lets native code finish, and the error comes out of the call once', () => {
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

  test('S58: whose result does not fit throws as well', () => {
    using scope = NativeScope.ofConfined()
    const numbers = NativeAllocator.allocateFrom(scope, int32, 2, 1)
    for (const result of ['a', undefined, 0.5, 2 ** 31, {}]) {
      expect(() => qsort(numbers, 2, 4, upcallStub(() => result as never, compareInts, scope))).toThrow(ArgumentError)
    }
  })

  test('there are 8192 of them, and one more is refused clearly', () => {
    const scope = ResourceScope.ofConfined()
    expect(() => {
      for (let i = 0; i < 9000; i++) upcallStub(byValue, compareInts, scope)
    }).toThrow(AllocationError)
    scope.close()
    ResourceScope.ofConfined().run((again) => upcallStub(byValue, compareInts, again))
  })
})

describe('a library', () => {
  test('S59: is refused after its scope has closed', () => {
    const scope = ResourceScope.ofConfined()
    const libm = SymbolLookup.ofLibrary('libm.so.6', scope)
    const symbol = libm.get('cos')
    const cos = Linker.downcall(symbol, { result: 'float64', parameters: ['float64'] })
    expect([cos(0), symbol.scope, libm.find('no_such_symbol')]).toEqual([1, scope, undefined])
    expect(() => libm.get('no_such_symbol')).toThrow(LoadError)
    scope.close()
    expect(() => cos(0)).toThrow(ScopeClosedError)
    expect(() => cos.async(0)).toThrow(ScopeClosedError)
    expect(() => libm.find('cos')).toThrow(ScopeClosedError)
    expect(() => Linker.downcall(symbol, {})).toThrow(ScopeClosedError)
    expect(() => SymbolLookup.ofLibrary('libm.so.6', scope)).toThrow(ScopeClosedError)
  })

  test('S59: that is missing is refused', () => {
    using scope = ResourceScope.ofConfined()
    expect(() => SymbolLookup.ofLibrary('/no/such/library.so', scope)).toThrow(LoadError)
    for (const path of [null, undefined, '', 1]) expect(() => SymbolLookup.ofLibrary(path as never, scope)).toThrow(ArgumentError)
    expect(() => SymbolLookup.ofLibrary('libm.so.6', {} as never)).toThrow(ArgumentError)
    for (const name of [null, undefined, '', 1]) expect(() => libc.find(name as never)).toThrow(ArgumentError)
  })
})

describe('a va_list', () => {
  const vsnprintf = Linker.downcall(libc.get('vsnprintf'), { result: 'int32', parameters: ['pointer', 'uint64', 'pointer', 'pointer'] })

  test('S60: carries arguments of all kinds', () => {
    using scope = NativeScope.ofConfined()
    const buffer = scope.allocate(200)
    const list = VaList.make(scope, (builder) => {
      for (let i = 0; i < 10; i++) builder.int32(i).float64(i + 0.5)
      return builder.int64(-(2n ** 40n)).uint32(7).pointer(toCString('end', scope))
    })
    const format = toCString(`${'%d %g '.repeat(10)}%lld %u %s`, scope)
    vsnprintf(buffer, 200, format, list.copy(scope).segment)
    const expected = `${Array.from({ length: 10 }, (_, i) => `${i} ${i + 0.5} `).join('')}-1099511627776 7 end`
    expect(buffer.getString(0)).toBe(expected)
    vsnprintf(buffer, 200, format, list.segment)
    expect(buffer.getString(0)).toBe(expected)
  })

  test('S60: is read in order', () => {
    using scope = NativeScope.ofConfined()
    const target = scope.allocate(8)
    const list = VaList.make(scope, (builder) => builder.int32(-1).uint32(2).float64(1.5).int64(-5).uint64(2n ** 63n).pointer(target).int32(9))
    const copy = list.copy(scope).arguments()
    copy.skip('integer')
    expect(copy.uint32()).toBe(2)
    const values = list.arguments()
    expect([values.int32(), values.uint32(), values.float64(), values.int64(), values.uint64()]).toEqual([-1, 2, 1.5, -5n, 2n ** 63n])
    expect(values.pointer().equals(target)).toBe(true)
    values.skip('integer')
  })

  test('S60: reaches a callback', () => {
    using scope = NativeScope.ofConfined()
    let seen: unknown[] = []
    const stub = upcallStub(
      (pointer: MemorySegment) => {
        const values = VaList.of(pointer).arguments()
        seen = [values.int32(), values.float64()]
      },
      { parameters: ['pointer'] },
      scope,
    )
    Linker.downcall(stub, { parameters: ['pointer'] })(VaList.make(scope, (builder) => builder.int32(1).float64(2.5)).segment)
    expect(seen).toEqual([1, 2.5])
  })

  test('S60: dies with its memory, and refuses what does not fit', () => {
    const scope = NativeScope.ofConfined()
    const list = VaList.make(scope, (builder) => builder.int32(1))
    for (const value of [null, 0.5, 2 ** 31, '1']) {
      expect(() => VaList.make(scope, (builder) => builder.int32(value as number))).toThrow(ArgumentError)
    }
    expect(() => VaList.make(scope, (builder) => builder.pointer(1n as never))).toThrow(ArgumentError)
    expect(() => VaList.make(scope, null as never)).toThrow(ArgumentError)
    expect(() => VaList.make(null as never, () => {})).toThrow(ArgumentError)
    VaList.make(scope, () => {})
    scope.close()
    expect(() => list.arguments().int32()).toThrow(ScopeClosedError)
    expect(() => VaList.make(scope, (builder) => builder.int32(1))).toThrow(ScopeClosedError)
  })
})

test('memory that native code gives and takes back is freed once, at close', () => {
  const [malloc, free] = [
    Linker.downcall(libc.get('malloc'), { result: 'pointer', parameters: ['uint64'] }),
    Linker.downcall(libc.get('free'), { parameters: ['pointer'] }),
  ]
  const scope = ResourceScope.ofConfined()
  let freed = 0
  const segment = (malloc(64) as MemorySegment).reinterpret(64, scope, (given) => {
    freed++
    free(given)
  })
  segment.fill(1)
  scope.close()
  expect(freed).toBe(1)
  expect(() => segment.getUint8(0)).toThrow(ScopeClosedError)
})
