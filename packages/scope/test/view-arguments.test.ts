import { ArgumentError, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { MemorySegment, NativeScope } from '@tenon/scope'
import { Linker, SymbolLookup, upcallStub } from '@tenon/scope/linker'
import fc from 'fast-check'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import { fuzzBudget } from './support/fuzz-budget.ts'

const libc = SymbolLookup.ofProcess()
const memory = NativeScope.ofConfined()
afterAll(() => memory.close())

const memcpy = Linker.downcall(libc.get('memcpy'), { result: 'pointer', parameters: ['pointer', 'pointer', 'uint64'] })
const memset = Linker.downcall(libc.get('memset'), { result: 'pointer', parameters: ['pointer', 'int32', 'uint64'] })
const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['text'] })

type ViewClass = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView

const classes: readonly (ViewClass & { readonly BYTES_PER_ELEMENT?: number })[] = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array, DataView],
]

describe('a view as an argument', () => {
  test('is memory in place, for every class and at every offset', () => {
    const views = fc.record({
      Class: fc.constantFrom(...classes),
      Buffer: fc.constantFrom(ArrayBuffer, SharedArrayBuffer),
      start: fc.nat(4),
      count: fc.nat(40),
      bytes: fc.uint8Array({ minLength: 400, maxLength: 400 }),
    })
    fc.assert(
      fc.property(views, ({ Class, Buffer: BufferClass, start, count, bytes }) => {
        const size = Class.BYTES_PER_ELEMENT ?? 1
        const buffer = new BufferClass(400)
        const all = new Uint8Array(buffer)
        all.set(bytes)
        const view = new Class(buffer as ArrayBuffer, start * size, count)
        const copy = memory.allocate(view.byteLength + 1)
        memcpy(copy, view, view.byteLength)
        const part = bytes.subarray(start * size, start * size + view.byteLength)
        expect(new Uint8Array(copy.view().buffer, copy.view().byteOffset, view.byteLength)).toEqual(part)
        memset(view, 0x5a, view.byteLength)
        const expected = bytes.slice()
        expected.fill(0x5a, start * size, start * size + view.byteLength)
        expect(all).toEqual(expected)
      }),
      fuzzBudget,
    )
  })

  test('may be a small array, a part of a pool, and an empty one', () => {
    const small = Uint8Array.of(1, 2, 3)
    memset(small, 9, 2)
    expect([...small]).toEqual([9, 9, 3])
    const pooled = Buffer.from('pooled\0')
    expect(strlen(pooled)).toBe(6n)
    expect(memset(new Uint8Array(0), 1, 0)).toBeInstanceOf(MemorySegment)
    const [a, b] = [new Float64Array(4), Float64Array.of(1, 2, 3, 4)]
    memcpy(a, b, 32)
    expect(a).toEqual(b)
  })

  test('is not read by properties of the same names', () => {
    const array = Uint8Array.of(65, 66, 0)
    for (const [name, value] of Object.entries({ buffer: new ArrayBuffer(1), byteOffset: 100, base: 50, block: {} }))
      Object.defineProperty(array, name, { value })
    expect(strlen(array)).toBe(2n)
  })

  test('is refused if its memory may vanish', () => {
    const detached = new Uint8Array(8)
    structuredClone(detached.buffer, { transfer: [detached.buffer] })
    const later = new Uint8Array(8)
    memset(later, 1, 8)
    structuredClone(later.buffer, { transfer: [later.buffer] })
    const resizable = new Uint8Array(new ArrayBuffer(8, { maxByteLength: 16 }))
    const growable = new Uint8Array(new SharedArrayBuffer(8, { maxByteLength: 16 }))
    expect(() => memset(detached, 1, 1)).toThrow('argument 1 of memset must have a buffer that stays in place')
    expect(() => memset(later, 1, 1)).toThrow(ScopeClosedError)
    for (const view of [resizable, growable]) expect(() => memset(view, 1, 1)).toThrow(/a resizable one/)
    for (const value of [
      new ArrayBuffer(8),
      new Proxy(new Uint8Array(8), {}),
      Object.create(Uint8Array.prototype),
      [1, 2],
    ])
      expect(() => memset(value as never, 1, 1)).toThrow(ArgumentError)
    expect([...resizable]).toEqual(new Array(8).fill(0))
  })

  test('is refused by asynchronous calls, which memory of a scope is not', async () => {
    const array = new Uint8Array(8)
    const refused = async (): Promise<unknown> => memset.async(array, 1, 8)
    await expect(refused).rejects.toThrow('argument 1 of memset must be memory of an allocator in an asynchronous call')
    await memset.async(MemorySegment.ofBuffer(array), 1, 8)
    expect(array[7]).toBe(1)
  })

  test('holds the scope of a raw view, and ends with it', () => {
    const scope = NativeScope.ofConfined()
    const view = scope.allocate(8).view()
    const bytes = new Uint8Array(view.buffer, view.byteOffset, 8)
    const stub = upcallStub(() => scope.close(), { parameters: ['pointer'] }, memory)
    const call = Linker.downcall(stub, { parameters: ['pointer'] })
    expect(() => call(bytes)).toThrow(ScopeHeldError)
    memset(bytes, 3, 8)
    expect(bytes[7]).toBe(3)
    scope.close()
    expect(() => memset(bytes, 3, 8)).toThrow(ScopeClosedError)
  })

  test('is not the result of a callback, because nothing would keep it', () => {
    const stub = upcallStub(() => new Uint8Array(8), { result: 'pointer' }, memory)
    expect(() => Linker.downcall(stub, { result: 'pointer' })()).toThrow('must be a segment, a tensor or null')
  })

  test('is known to the compiler', () => {
    expectTypeOf<Uint8Array>().toExtend<Parameters<typeof memset>[0]>()
    expectTypeOf<DataView>().toExtend<Parameters<typeof memset>[0]>()
    expectTypeOf<ArrayBuffer>().not.toExtend<Parameters<typeof memset>[0]>()
  })
})
