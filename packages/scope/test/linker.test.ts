import { ArgumentError, LoadError, ScopeClosedError, ScopeHeldError, TenonError } from '@tenon/core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import { type FunctionSignature, Linker, type NativeType, SymbolLookup, upcallStub } from '../src/linker.ts'
import type { Result, WithErrno } from '../src/linker/downcall.ts'

const { int32 } = MemoryLayout
const libc = SymbolLookup.ofProcess()
const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['pointer'] })
const qsort = Linker.downcall(libc.get('qsort'), { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] })
const compareInts = { result: 'int32', parameters: ['pointer', 'pointer'] } as const
const byValue = (a: MemorySegment, b: MemorySegment): number =>
  a.reinterpret(4).getInt32(0) - b.reinterpret(4).getInt32(0)

function dead(): MemorySegment {
  const scope = NativeScope.ofConfined()
  const segment = scope.allocate(16)
  scope.close()
  return segment
}

describe('a call', () => {
  test('throws ScopeClosedError for closed memory, and holds its arguments', () => {
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

  test('releases everything if an argument is refused', () => {
    const memcpy = Linker.downcall(libc.get('memcpy'), {
      result: 'pointer',
      parameters: ['pointer', 'pointer', 'uint64'],
    })
    for (const [at, bad] of [
      [0, dead()],
      [1, dead()],
      [2, -1],
      [2, null],
      [1, 16n],
      [0, new ArrayBuffer(8)],
    ] as const) {
      const scopes = [NativeScope.ofConfined(), NativeScope.ofConfined()]
      const values: unknown[] = [...scopes.map((scope) => scope.allocate(8)), 8]
      values[at] = bad
      expect(() => memcpy(...(values as Parameters<typeof memcpy>))).toThrow(TenonError)
      for (const scope of scopes) scope.close()
    }
  })

  test('checks every argument', () => {
    const abs = Linker.downcall(libc.get('abs'), { result: 'int32', parameters: ['int32'] })
    expect(abs(-5)).toBe(5)
    for (const value of [2 ** 31, -(2 ** 31) - 1, 0.5, Number.NaN, null, undefined, '1', 2n ** 31n, {}, true]) {
      expect(() => abs(value as number), String(value)).toThrow(ArgumentError)
    }
    // @ts-expect-error: the argument is missing
    expect(() => abs()).toThrow(ArgumentError)
    // @ts-expect-error: there is one parameter
    expect(() => abs(1, 2)).toThrow(ArgumentError)
    for (const value of [1, 1n, 'a', undefined, new ArrayBuffer(4), {}])
      expect(() => strlen(value as never)).toThrow(ArgumentError)
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

  test('returns pointers without memory', () => {
    const strchr = Linker.downcall(libc.get('strchr'), { result: 'pointer', parameters: ['pointer', 'int32'] })
    using scope = NativeScope.ofConfined()
    const text = toCString('hello', scope)
    const found = strchr(text, 0x6c) as MemorySegment
    expect([found.byteSize, found.address - text.address]).toEqual([0, 2n])
    expect(() => found.setUint8(0, 1)).toThrow(RangeError)
    expect(found.reinterpret(4).getString(0)).toBe('llo')
    expect((strchr(text, 0x78) as MemorySegment).equals(MemorySegment.NULL)).toBe(true)
  })

  test('accepts null as a pointer, and refuses the null function', () => {
    const free = Linker.downcall(libc.get('free'), { parameters: ['pointer'] })
    expect(free(null)).toBeUndefined()
    expect(free(MemorySegment.NULL)).toBeUndefined()
    expect(() => Linker.downcall(MemorySegment.NULL, {})).toThrow(ArgumentError)
    for (const symbol of [null, undefined, 1n, {}])
      expect(() => Linker.downcall(symbol as never, {})).toThrow(ArgumentError)
  })

  test('refuses a variable, which has an address as well', () => {
    const call = (): unknown => Linker.downcall(libc.get('environ'), { parameters: [] })
    expect(call).toThrow(ArgumentError)
    expect(call).toThrow('symbol must be a function, got the variable environ')
    expect(libc.get('environ').reinterpret(8).byteSize).toBe(8)
  })

  test('refuses invalid signatures', () => {
    const symbol = libc.get('snprintf')
    for (const signature of [
      null,
      undefined,
      1,
      [],
      { parameters: 1 },
      { parameters: ['int'] },
      { result: 'string' },
      { parameters: [null] },
    ]) {
      expect(() => Linker.downcall(symbol, signature as never), String(signature)).toThrow(ArgumentError)
    }
    for (const type of ['bool', 'int8', 'uint16', 'float32'] as const) {
      expect(() => Linker.downcall(symbol, { parameters: ['pointer', type], fixedParameters: 1 })).toThrow(
        /passes it as/,
      )
    }
    for (const fixedParameters of [-1, 0.5, 2]) {
      expect(() => Linker.downcall(symbol, { parameters: ['pointer'], fixedParameters })).toThrow(ArgumentError)
    }
  })

  test('passes values unchanged, for every kind and number of parameters', () => {
    using scope = NativeScope.ofConfined()
    const kinds: readonly (readonly [NativeType, unknown])[] = [
      ['bool', true],
      ['int8', -128],
      ['uint8', 255],
      ['int16', -32768],
      ['uint16', 65535],
      ['int32', -(2 ** 31)],
      ['uint32', 2 ** 32 - 1],
      ['int64', -(2n ** 63n)],
      ['uint64', 2n ** 64n - 1n],
      ['float32', 1.5],
      ['float64', Math.PI],
      ['pointer', scope.allocate(8)],
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
    const open = Linker.downcall(
      libc.get('open'),
      { result: 'int32', parameters: ['pointer', 'int32'] },
      { captureErrno: true },
    )
    expect(open(toCString('/no/such/file', scope), 0)).toEqual({ value: -1, errno: 2 })
    expect(open(toCString('/etc/passwd/x', scope), 0)).toEqual({ value: -1, errno: 20 })
  })

  test('captures errno together with pointers and structs, and on another thread', async () => {
    using scope = NativeScope.ofConfined()
    const capture = { captureErrno: true } as const
    const types = { result: 'pointer', parameters: ['pointer', 'pointer'] } as const
    const realpath = Linker.downcall(libc.get('realpath'), types, capture)
    const missing = realpath(toCString('/no/such/file', scope), null)
    expect([missing.value.address, missing.errno]).toEqual([0n, 2])
    const later = await realpath.async(toCString('/etc/passwd/x', scope), null)
    expect([later.value.address, later.errno]).toEqual([0n, 20])
    const layout = MemoryLayout.struct({ quot: int32, rem: int32 })
    const div = Linker.downcall(libc.get('div'), { result: layout, parameters: ['int32', 'int32'] }, capture)
    const { value, errno } = div(scope, 17, 5)
    expect([value.toArray(int32), errno]).toEqual([Int32Array.of(3, 2), 0])
    expect((await div.async(scope, 9, 2)).value.toArray(int32)).toEqual(Int32Array.of(4, 1))
  })

  test('passes variadic arguments', () => {
    using scope = NativeScope.ofConfined()
    const buffer = scope.allocate(100)
    const print = (format: string, types: readonly NativeType[], values: readonly unknown[]): string => {
      const call = Linker.downcall(libc.get('snprintf'), {
        result: 'int32',
        parameters: ['pointer', 'uint64', 'pointer', ...types],
        fixedParameters: 3,
      })
      call(buffer, 100, toCString(format, scope), ...(values as never[]))
      return buffer.getString(0)
    }
    expect(print('plain', [], [])).toBe('plain')
    expect(print('%d %d', ['int32', 'int32'], [1, -2])).toBe('1 -2')
    expect(
      print('%d %g %s %lld', ['int32', 'float64', 'pointer', 'int64'], [1, 1.5, toCString('x', scope), 2n ** 40n]),
    ).toBe('1 1.5 x 1099511627776')
    expect(
      print('%g %g %g %g %g %g %g %g %g', new Array<NativeType>(9).fill('float64'), [1, 2, 3, 4, 5, 6, 7, 8, 9.5]),
    ).toBe('1 2 3 4 5 6 7 8 9.5')
  })
})

describe('a call on another thread', () => {
  test('holds its arguments until it has returned', async () => {
    const usleep = Linker.downcall(libc.get('usleep'), { result: 'int32', parameters: ['uint32'] })
    expect(await usleep.async(1)).toBe(0)
    const scope = NativeScope.ofConfined()
    const text = toCString('hello', scope)
    const pending = strlen.async(text)
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(await pending).toBe(5n)
    scope.close()
    await expect(strlen.async(text)).rejects.toThrow(ScopeClosedError)
    await expect(strlen.async(1 as never)).rejects.toThrow(ArgumentError)
  })

  test('rejects invalid arguments, also if it returns a pointer or a struct', async () => {
    using scope = NativeScope.ofConfined()
    const layout = MemoryLayout.struct({ quot: int32, rem: int32 })
    const div = Linker.downcall(libc.get('div'), { result: layout, parameters: ['int32', 'int32'] })
    const getenv = Linker.downcall(libc.get('getenv'), { result: 'pointer', parameters: ['pointer'] })
    await expect(getenv.async('HOME' as never)).rejects.toThrow(ArgumentError)
    await expect(div.async(scope, 'x' as never, 5)).rejects.toThrow(ArgumentError)
    // @ts-expect-error: the allocator is missing
    await expect(div.async(17, 5)).rejects.toThrow(ArgumentError)
    const pending = div.async(scope, 17, 5)
    expect(() => scope.close()).toThrow(ScopeHeldError)
    expect(((await pending) as MemorySegment).toArray(int32)).toEqual(Int32Array.of(3, 2))
    expect(((await getenv.async(toCString('HOME', scope))) as MemorySegment).address).not.toBe(0n)
  })

  test('keeps memory alive that the caller drops', async () => {
    const pending: Promise<unknown>[] = []
    for (let i = 0; i < 200; i++) {
      pending.push(
        strlen.async(
          MemorySegment.allocateNative(64 * 1024)
            .fill(0x41)
            .setString(1000, 'x') ?? MemorySegment.ofBuffer(new Uint8Array([0x41, 0])),
        ),
      )
      if (i % 50 === 0) globalThis.gc?.()
    }
    expect(new Set(await Promise.all(pending))).toEqual(new Set([1n]))
  })

  test('makes closeAsync() wait', async () => {
    const scope = NativeScope.ofConfined()
    const pending = strlen.async(toCString('hello', scope))
    await scope.closeAsync()
    expect(await pending).toBe(5n)
  })
})

test('the compiler knows the result of a function', () => {
  const types = { result: 'pointer', parameters: ['pointer'] } as const
  expectTypeOf<ReturnType<typeof strlen>>().toEqualTypeOf<bigint>()
  expectTypeOf<ReturnType<typeof qsort>>().toEqualTypeOf<undefined>()
  expectTypeOf<ReturnType<typeof strlen.async>>().toEqualTypeOf<Promise<bigint>>()
  const getenv = Linker.downcall(libc.get('getenv'), types, { captureErrno: true })
  expectTypeOf<ReturnType<typeof getenv>>().toEqualTypeOf<WithErrno<MemorySegment>>()
  const signature: FunctionSignature = types
  const any = Linker.downcall(libc.get('getenv'), signature)
  expectTypeOf<ReturnType<typeof any>>().toEqualTypeOf<Result>()
  for (const captureErrno of ['yes', 1, null])
    expect(() => Linker.downcall(libc.get('getenv'), types, { captureErrno } as never)).toThrow(ArgumentError)
})

describe('a library', () => {
  test('is refused after its scope has closed', async () => {
    const scope = ResourceScope.ofConfined()
    const libm = SymbolLookup.ofLibrary('libm.so.6', scope)
    const symbol = libm.get('cos')
    const cos = Linker.downcall(symbol, { result: 'float64', parameters: ['float64'] })
    expect([cos(0), symbol.scope, libm.find('no_such_symbol')]).toEqual([1, scope, undefined])
    expect(() => libm.get('no_such_symbol')).toThrow(LoadError)
    expect(() => libc.get('no_such_symbol')).toThrow(
      /^the library of this process does not export a symbol named "no_such_symbol"/,
    )
    scope.close()
    expect(() => cos(0)).toThrow(ScopeClosedError)
    await expect(cos.async(0)).rejects.toThrow(ScopeClosedError)
    expect(() => libm.find('cos')).toThrow(ScopeClosedError)
    expect(() => Linker.downcall(symbol, {})).toThrow(ScopeClosedError)
    expect(() => SymbolLookup.ofLibrary('libm.so.6', scope)).toThrow(ScopeClosedError)
  })

  test.each([
    ['confined', () => ResourceScope.ofConfined()],
    ['shared', () => ResourceScope.ofShared()],
    ['native', () => NativeScope.ofConfined()],
    ['managed', () => ResourceScope.ofConfined({ managed: true })],
  ])('of a %s scope can be called and searched by close actions, whenever they were added', async (_kind, open) => {
    const scope = open()
    const called: unknown[] = []
    let onThread: Promise<unknown> | undefined
    scope.addCloseAction(() => called.push(library.find('free')?.scope))
    const library: SymbolLookup = SymbolLookup.ofLibrary('libc.so.6', scope)
    const [malloc, free, bsearch] = [
      Linker.downcall(library.get('malloc'), { result: 'pointer', parameters: ['uint64'] }),
      Linker.downcall(library.get('free'), { parameters: ['pointer'] }),
      Linker.downcall(libc.get('bsearch'), {
        result: 'pointer',
        parameters: ['pointer', 'pointer', 'uint64', 'uint64', 'pointer'],
      }),
    ]
    const handle = malloc(8)
    const memory = handle.reinterpret(8, scope)
    scope.addCloseAction(() => {
      const abs = Linker.downcall(library.get('llabs'), { result: 'int64', parameters: ['int64'] })
      called.push(abs(-1), bsearch(handle, handle, 0, 1, library.get('strcmp')).address)
      expect(() => free(memory)).toThrow(ScopeClosedError)
      onThread = free.async(handle)
      onThread.catch(() => {})
      called.push(free(handle))
    })
    scope.close()
    expect(called).toEqual([1n, 0n, undefined, scope])
    await expect(onThread).rejects.toThrow(ScopeClosedError)
    expect(() => free(null)).toThrow(ScopeClosedError)
    expect(() => library.find('free')).toThrow(ScopeClosedError)
  })

  test('cannot be called while closeAsync() waits', async () => {
    const scope = ResourceScope.ofConfined()
    const cos = Linker.downcall(SymbolLookup.ofLibrary('libm.so.6', scope).get('cos'), {
      result: 'float64',
      parameters: ['float64'],
    })
    const hold = scope.acquire()
    const closed = scope.closeAsync()
    expect(() => cos(0)).toThrow(ScopeClosedError)
    hold.release()
    await closed
  })

  test('throws LoadError if it is missing', () => {
    using scope = ResourceScope.ofConfined()
    expect(() => SymbolLookup.ofLibrary('/no/such/library.so', scope)).toThrow(LoadError)
    for (const path of [null, undefined, '', 1])
      expect(() => SymbolLookup.ofLibrary(path as never, scope)).toThrow(ArgumentError)
    expect(() => SymbolLookup.ofLibrary('libm.so.6', {} as never)).toThrow(ArgumentError)
    for (const name of [null, undefined, '', 1]) expect(() => libc.find(name as never)).toThrow(ArgumentError)
  })
})

test('memory that native code allocates is freed once, at close', () => {
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
