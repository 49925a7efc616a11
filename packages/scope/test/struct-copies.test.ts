import { channel } from 'node:diagnostics_channel'
import { ScopeClosedError } from '@tenon/core'
import { afterAll, describe, expect, test } from 'vitest'
import { MemoryLayout, type MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, upcallStub } from '../src/linker.ts'

const { float32, float64, int32, int64, sequence, struct, uint8, union } = MemoryLayout
const stubs = ResourceScope.ofConfined()
afterAll(() => stubs.close())

const ofBytes = (count: number) => struct({ bytes: sequence(uint8, count) })
const bytesOf = (segment: MemorySegment): number[] => Array.from(segment.toArray(uint8) as Uint8Array)

/** Fills memory with bytes of which none are zero. */
function fillDistinct(segment: MemorySegment): MemorySegment {
  for (let i = 0; i < segment.byteSize; i++) segment.setUint8(i, (i % 251) + 1)
  return segment
}

describe('structs passed by value', () => {
  // Up to 16 bytes are in registers on some platforms, and copies of more than 128 bytes are made in another way.
  const sizes = [...Array.from({ length: 40 }, (_, i) => i + 1), 63, 64, 65, 127, 128, 129, 130, 131, 1023, 4096]
  test.each(sizes)('have the same bytes in a function and after it, with %i bytes', (size) => {
    const layout = ofBytes(size)
    const seen: number[][] = []
    const run = (first: MemorySegment, number: number, second: MemorySegment): MemorySegment => {
      seen.push(bytesOf(first), [number], bytesOf(second))
      return second
    }
    const signature = { result: layout, parameters: [layout, 'int32', layout] } as const
    const call = Linker.downcall(upcallStub(run, signature, stubs), signature)
    NativeScope.ofConfined().run((scope) => {
      const [a, b] = [fillDistinct(scope.allocate(layout)), fillDistinct(scope.allocate(size + 3).asSlice(3, size))]
      b.setUint8(0, 255)
      const around = scope.allocate(size + 32).fill(0x77)
      const result = call({ allocate: () => around.asSlice(16, size) }, a, 7, b)
      expect(seen).toEqual([bytesOf(a), [7], bytesOf(b)])
      expect(bytesOf(result)).toEqual(bytesOf(b))
      expect(bytesOf(around.asSlice(0, 16)).concat(bytesOf(around.asSlice(16 + size)))).toEqual(
        new Array(32).fill(0x77),
      )
    })
  })

  test.each([
    ['floats', struct({ a: float32, b: float32, c: float32 })],
    ['a float and an integer', struct({ a: float64, b: int32 })],
    ['padding in the second half', struct({ a: int64, _: MemoryLayout.padding(8) })],
    ['padding in the first half', struct({ _: MemoryLayout.padding(8), a: int64 })],
    ['a union', union({ a: float64, b: sequence(int32, 3) })],
  ])('keep their members and have no bytes of earlier calls: %s', (_, layout) => {
    const signature = { result: layout, parameters: [layout] } as const
    const call = Linker.downcall(
      upcallStub((one: MemorySegment) => one, signature, stubs),
      signature,
    )
    NativeScope.ofConfined().run((scope) => {
      const memory = fillDistinct(scope.allocate(layout.byteSize!, 16))
      const result = bytesOf(call(scope, memory) as MemorySegment)
      const expected = bytesOf(memory)
      for (let i = 0; i < result.length; i++) expect([expected[i], 0]).toContain(result[i])
      for (const { layout: member, byteOffset } of layout.members) {
        if (String(member).includes('padding')) continue
        const end = byteOffset + member.byteSize!
        expect(result.slice(byteOffset, end)).toEqual(expected.slice(byteOffset, end))
      }
    })
  })

  test('are copied after all arguments were read', () => {
    let runs = 0
    const layout = struct({ value: int64 })
    const signature = { result: 'int64', parameters: [layout, 'pointer'] } as const
    const run = (one: MemorySegment): bigint => {
      runs++
      return one.getInt64(0)
    }
    const call = Linker.downcall(upcallStub(run, signature, stubs), signature)
    const [first, second] = [NativeScope.ofConfined(), NativeScope.ofConfined()]
    const value = first.allocate(layout)
    value.setInt64(0, 1n)
    const other = second.allocate(8)
    const acting = (action: () => void): MemorySegment =>
      new Proxy(other, {
        get: (target, name) => {
          if (name === 'base') action()
          return Reflect.get(target, name, target) as unknown
        },
      })
    expect(
      call(
        value,
        acting(() => value.setInt64(0, 2n)),
      ),
    ).toBe(2n)
    expect(() =>
      call(
        value,
        acting(() => {
          first[Symbol.dispose]()
        }),
      ),
    ).toThrow(ScopeClosedError)
    expect(runs).toBe(1)
    second.close()
  })
})

describe('structs that a callback gets', () => {
  const layout = ofBytes(24)
  const signature = { result: layout, parameters: [layout] } as const

  test('stay the same while the callback is called again', () => {
    const depth = 5
    const seen: number[][] = []
    const call: (allocator: NativeScope, one: MemorySegment) => MemorySegment = Linker.downcall(
      upcallStub(
        (one: MemorySegment) => {
          const level = one.getUint8(0)
          if (level < depth) {
            NativeScope.ofConfined().run((scope) => {
              const inner = scope.allocate(24).fill(level + 1)
              expect(bytesOf(call(scope, inner))).toEqual(new Array(24).fill(level + 1))
            })
          }
          seen.push(bytesOf(one))
          return one
        },
        signature,
        stubs,
      ),
      signature,
    )
    NativeScope.ofConfined().run((scope) => {
      call(scope, scope.allocate(24).fill(1))
      call(scope, scope.allocate(24).fill(1))
    })
    const once = [5, 4, 3, 2, 1].map((level) => new Array<number>(24).fill(level))
    expect(seen).toEqual([...once, ...once])
  })

  test('stay the same if a subscriber that hears of their scope calls the callback', () => {
    const seen: number[] = []
    const outer = NativeScope.ofConfined()
    const call = Linker.downcall(
      upcallStub(
        (one: MemorySegment) => {
          seen.push(one.getUint8(0), one.getUint8(23))
          return one
        },
        signature,
        stubs,
      ),
      signature,
    )
    const [first, second] = [outer.allocate(24).fill(1), outer.allocate(24).fill(2)]
    const target = { allocate: () => second }
    // From its second call on, the callback has memory of an earlier one.
    call({ allocate: () => outer.allocate(24) }, first)
    let isNested = false
    const opened = channel('tenon:scope:open')
    const onOpen = (): void => {
      if (isNested) return
      isNested = true
      call(target, second)
    }
    opened.subscribe(onOpen)
    try {
      call({ allocate: () => outer.allocate(24) }, first)
    } finally {
      opened.unsubscribe(onOpen)
    }
    expect(seen).toEqual([1, 1, 2, 2, 1, 1])
    outer.close()
  })
})
