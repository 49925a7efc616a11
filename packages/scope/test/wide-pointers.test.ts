import { ArgumentRangeError, gcAllocator } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub, VaList } from '../src/linker.ts'

const { address, int32, struct } = MemoryLayout
const libc = SymbolLookup.ofProcess()

/** Sentinels of C such as `(void *)-1`, the ends of what a number holds, and addresses with a tag in their upper bits. */
const wide = [
  2n ** 64n - 1n,
  2n ** 64n - 2n,
  2n ** 64n - 2n ** 53n - 1n,
  2n ** 63n,
  2n ** 63n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  0xb400_007f_1234_5671n,
  0xffff_8000_0000_0001n,
]

const pointerToPointer = { result: 'pointer', parameters: ['pointer'] } as const

describe('an address of 2^53 and above', () => {
  test.each(wide)('%d is passed to C and back', async (bits) => {
    using scope = NativeScope.ofConfined()
    const pointer = MemorySegment.ofAddress(bits)
    // memcpy() of no bytes returns its first argument.
    const memcpy = Linker.downcall(libc.get('memcpy'), {
      result: 'pointer',
      parameters: ['pointer', 'pointer', 'uint64'],
    })
    expect(memcpy(pointer, MemorySegment.NULL, 0).address).toBe(bits)
    expect((await memcpy.async(pointer, null, 0)).address).toBe(bits)
    // Seven pointers, of which the last is on the stack on x86-64.
    const seen: bigint[] = []
    const types = ['int32', ...Array<'pointer'>(8).fill('pointer')] as const
    const stub = upcallStub(
      (_: number, ...pointers: MemorySegment[]) => void seen.push(...pointers.map((p) => p.address)),
      { parameters: types },
      scope,
    )
    Linker.downcall(stub, { parameters: types })(1, ...Array<MemorySegment>(8).fill(pointer))
    expect(seen).toEqual(Array(8).fill(bits))
  })

  test.each(wide)('%d is an argument and a result of a callback', (bits) => {
    using scope = NativeScope.ofConfined()
    const seen: MemorySegment[] = []
    const stub = upcallStub(
      (p: MemorySegment) => {
        seen.push(p)
        return p
      },
      pointerToPointer,
      scope,
    )
    expect(Linker.downcall(stub, pointerToPointer)(MemorySegment.ofAddress(bits)).address).toBe(bits)
    expect(seen.map((p) => p.address)).toEqual([bits])
    const made = upcallStub(() => MemorySegment.ofAddress(bits), { result: 'pointer' }, scope)
    expect(Linker.downcall(made, { result: 'pointer' })().address).toBe(bits)
  })

  test.each(wide)('%d is a member of a struct, also by value, and an argument of a va_list', (bits) => {
    using scope = NativeScope.ofConfined()
    const target = address.withTargetLayout(int32)
    const layout = struct({ p: address, n: int32, _: MemoryLayout.padding(4), q: target })
    const value = scope.allocate(layout.byteSize!, 8)
    value.set(address, 0, MemorySegment.ofAddress(bits))
    value.set(target, 16, MemorySegment.ofAddress(bits))
    const signature = { result: layout, parameters: [layout] } as const
    const stub = upcallStub((given: MemorySegment) => given, signature, scope)
    const back = Linker.downcall(stub, signature)(scope, value)
    expect(back.get(address, 0).address).toBe(bits)
    expect(back.get(target, 16)).toMatchObject({ address: bits, byteSize: 0 })
    expect(back.getUint64(0)).toBe(bits)
    const list = VaList.ofArguments(scope, (builder) => builder.pointer(MemorySegment.ofAddress(bits)))
    expect(list.arguments().pointer().address).toBe(bits)
  })

  test.each(wide)('%d is printed and compared, and never is memory', (bits) => {
    using scope = NativeScope.ofConfined()
    const pointer = MemorySegment.ofAddress(bits)
    expect(String(pointer)).toContain(`0x${bits.toString(16)}`)
    expect(pointer.equals(MemorySegment.ofAddress(bits))).toBe(true)
    expect(pointer.equals(MemorySegment.ofAddress(bits - 1n))).toBe(false)
    expect(pointer.equals(MemorySegment.NULL)).toBe(false)
    expect(pointer.asSlice(0).address).toBe(bits)
    expect(MemorySegment.ofSegment(pointer).address).toBe(bits)
    expect(pointer.reinterpret(0).address).toBe(bits)
    expect(pointer.reinterpret(0, scope).address).toBe(bits)
    expect(pointer.asOverlappingSlice(pointer).byteSize).toBe(0)
    for (const size of [1, 8, 2 ** 40]) {
      expect(() => pointer.reinterpret(size)).toThrow(ArgumentRangeError)
      expect(() => pointer.reinterpret(size, scope)).toThrow(`0x${bits.toString(16)}`)
    }
    expect(() => Linker.downcall(pointer, {})).toThrow(
      `symbol must be a function, got the address 0x${bits.toString(16)}`,
    )
    expect(() => pointer.getUint8(0)).toThrow(RangeError)
  })

  test('is passed where C compares it with a sentinel', () => {
    // As SQLITE_TRANSIENT is: sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT).
    const transient = MemorySegment.ofAddress(2n ** 64n - 1n)
    const bsearch = Linker.downcall(libc.get('bsearch'), {
      result: 'pointer',
      parameters: ['pointer', 'pointer', 'uint64', 'uint64', 'pointer'],
    })
    expect(bsearch(gcAllocator.allocate(4), transient, 0, 4, transient).address).toBe(0n)
  })
})
