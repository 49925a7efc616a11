import { ArgumentError, ScopeClosedError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope, toCString } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub, VaList } from '../src/linker.ts'

const libc = SymbolLookup.ofProcess()

describe('a va_list', () => {
  const vsnprintf = Linker.downcall(libc.get('vsnprintf'), {
    result: 'int32',
    parameters: ['pointer', 'uint64', 'pointer', 'pointer'],
  })

  test('carries arguments of all kinds', () => {
    using scope = NativeScope.ofConfined()
    const buffer = scope.allocate(200)
    const list = VaList.ofArguments(scope, (builder) => {
      for (let i = 0; i < 10; i++) builder.int32(i).float64(i + 0.5)
      return builder
        .int64(-(2n ** 40n))
        .uint32(7)
        .pointer(toCString('end', scope))
    })
    const format = toCString(`${'%d %g '.repeat(10)}%lld %u %s`, scope)
    vsnprintf(buffer, 200, format, list.copy(scope).segment)
    const expected = `${Array.from({ length: 10 }, (_, i) => `${i} ${i + 0.5} `).join('')}-1099511627776 7 end`
    expect(buffer.getString(0)).toBe(expected)
    vsnprintf(buffer, 200, format, list.segment)
    expect(buffer.getString(0)).toBe(expected)
  })

  test('refuses pointers to closed memory and to JavaScript buffers', () => {
    using scope = NativeScope.ofConfined()
    const gone = NativeScope.ofConfined().run((other) => other.allocate(8))
    expect(() => VaList.ofArguments(scope, (builder) => builder.pointer(gone))).toThrow(ScopeClosedError)
    for (const pointer of [MemorySegment.ofBuffer(new Uint8Array(8)), undefined, 0n, {}])
      expect(() => VaList.ofArguments(scope, (builder) => builder.pointer(pointer as never))).toThrow(ArgumentError)
    expect(
      VaList.ofArguments(scope, (builder) => builder.pointer(null))
        .arguments()
        .pointer().address,
    ).toBe(0n)
  })

  test('is read in order', () => {
    using scope = NativeScope.ofConfined()
    const target = scope.allocate(8)
    const list = VaList.ofArguments(scope, (builder) =>
      builder
        .int32(-1)
        .uint32(2)
        .float64(1.5)
        .int64(-5)
        .uint64(2n ** 63n)
        .pointer(target)
        .int32(9),
    )
    const copy = list.copy(scope).arguments()
    copy.skip('integer')
    expect(copy.uint32()).toBe(2)
    const values = list.arguments()
    expect([values.int32(), values.uint32(), values.float64(), values.int64(), values.uint64()]).toEqual([
      -1,
      2,
      1.5,
      -5n,
      2n ** 63n,
    ])
    expect(values.pointer().equals(target)).toBe(true)
    values.skip('integer')
  })

  test('can be passed to a callback', () => {
    using scope = NativeScope.ofConfined()
    let seen: unknown[] = []
    const stub = upcallStub(
      (pointer: MemorySegment) => {
        const values = VaList.ofPointer(pointer).arguments()
        seen = [values.int32(), values.float64()]
      },
      { parameters: ['pointer'] },
      scope,
    )
    Linker.downcall(stub, { parameters: ['pointer'] })(
      VaList.ofArguments(scope, (builder) => builder.int32(1).float64(2.5)).segment,
    )
    expect(seen).toEqual([1, 2.5])
  })

  test('ends with its memory, and refuses values that do not fit', () => {
    const scope = NativeScope.ofConfined()
    const list = VaList.ofArguments(scope, (builder) => builder.int32(1))
    for (const value of [null, 0.5, 2 ** 31, '1']) {
      expect(() => VaList.ofArguments(scope, (builder) => builder.int32(value as number))).toThrow(ArgumentError)
    }
    expect(() => VaList.ofArguments(scope, (builder) => builder.pointer(1n as never))).toThrow(ArgumentError)
    expect(() => VaList.ofArguments(scope, null as never)).toThrow(ArgumentError)
    expect(() => VaList.ofArguments(null as never, () => {})).toThrow(ArgumentError)
    VaList.ofArguments(scope, () => {})
    scope.close()
    expect(() => list.arguments().int32()).toThrow(ScopeClosedError)
    expect(() => VaList.ofArguments(scope, (builder) => builder.int32(1))).toThrow(ScopeClosedError)
  })
})
