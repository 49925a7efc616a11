import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { MemoryLayout, MemorySegment, NativeAllocator, NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub, VaList } from '../src/linker.ts'

const scope = NativeScope.ofConfined({ name: 'request' })
const shared = NativeScope.ofShared()
const segment = scope.allocate(64, 16)
const { int32, float64 } = MemoryLayout
const point = MemoryLayout.struct({ id: int32, x: float64 }).withName('point')
const points = MemoryLayout.sequence(point, 4)
const process = SymbolLookup.ofProcess()
const list = VaList.ofArguments(scope, (builder) => builder.int32(1))

/** Every kind of public object with the text that console.log prints. */
const objects: Record<string, [value: unknown, text: string | RegExp]> = {
  ResourceScope: [ResourceScope, 'ResourceScope'],
  NativeScope: [NativeScope, 'NativeScope'],
  NativeAllocator: [NativeAllocator, 'NativeAllocator'],
  MemoryLayout: [MemoryLayout, 'MemoryLayout'],
  Linker: [Linker, 'Linker'],
  'a confined scope': [ResourceScope.ofConfined(), 'confined scope, open'],
  'a confined native scope': [scope, 'confined scope "request", open'],
  'a shared scope': [shared, 'shared scope, open'],
  'an implicit scope': [ResourceScope.ofImplicit(), 'implicit scope'],
  'the global scope': [ResourceScope.global, 'global scope'],
  'a shared token': [shared.share(), 'token of a shared scope with 0 segments'],
  'a handoff token': [handoff(), 'token of a confined scope "moving" with 1 segment'],
  'a segment': [segment, /^MemorySegment of 64 bytes at 0x[0-9a-f]+$/],
  'a read-only segment': [segment.asReadOnly(), /^MemorySegment of 64 bytes at 0x[0-9a-f]+, read-only$/],
  'a symbol': [process.get('strlen'), /^strlen, a MemorySegment of 0 bytes at 0x[0-9a-f]+$/],
  'a stub': [upcallStub(function compare() {}, {}, scope), /^the callback compare, a MemorySegment of 0 bytes at /],
  'a symbol lookup': [process, 'SymbolLookup of this process'],
  'a function': [
    Linker.downcall(process.get('strlen'), { result: 'uint64', parameters: ['pointer'] }),
    'strlen(pointer): uint64',
  ],
  'a function with errno': [Linker.downcall(process.get('abort'), {}, { captureErrno: true }), 'abort(): void'],
  'a list of arguments': [list, /^VaList in MemorySegment of \d+ bytes at /],
  'a cursor': [list.arguments(), /^VaCursor over MemorySegment of \d+ bytes at /],
  'a value layout': [int32, /^:int32[<>]%4$/],
  'an address layout': [MemoryLayout.address, /^:address[<>]%8$/],
  'a struct': [point, /^point\{id@0=:int32[<>]%4,x@8=:float64[<>]%8\}16%8$/],
  'a sequence': [points, /^\[4:point\{.*\}16%8\]%8$/],
  'a var handle': [
    MemoryLayout.varHandle(points, MemoryLayout.element(), 'x'),
    /^VarHandle of :float64[<>]%8, free indexes: 1$/,
  ],
  'a class of accessors': [MemoryLayout.accessor(point), /^accessors of point\{/],
  'an accessor': [MemoryLayout.accessor(point).at(segment), 'point { id: 0, x: 0 }'],
  'the allocator of a scope': [NativeAllocator.ofMalloc(() => scope), 'NativeAllocator of separate segments'],
  'a slicing allocator': [NativeAllocator.ofSlices(segment), 'NativeAllocator with 64 of 64 bytes left'],
  'a prefix allocator': [NativeAllocator.ofPrefix(segment), 'NativeAllocator of the first bytes of 64'],
}

function handoff(): unknown {
  const moving = ResourceScope.ofConfined({ name: 'moving' })
  return moving.handoff([MemorySegment.allocateNative(8, 8, moving)])
}

describe('console.log prints one line', () => {
  test.each(Object.entries(objects))('for %s', (_, [value, text]) => {
    const printed = inspect(value)
    if (typeof text === 'string') expect(printed).toBe(text)
    else expect(printed).toMatch(text)
    expect(printed).not.toContain('\n')
  })

  test('for an accessor whose memory is closed', () => {
    const closed = NativeScope.ofConfined()
    const accessor = MemoryLayout.accessor(point).at(closed.allocate(16, 8))
    closed.close()
    expect(inspect(accessor)).toMatch(/^point in MemorySegment of 16 bytes at 0x[0-9a-f]+, which cannot be read$/)
  })

  test('for a scope that is closing, and that is closed', () => {
    const closing = ResourceScope.ofConfined()
    const seen: string[] = []
    closing.addCloseAction(() => seen.push(inspect(closing)))
    closing.close()
    expect([...seen, inspect(closing)]).toEqual(['confined scope, closing', 'confined scope, closed'])
  })
})

test('native functions are named after their symbols', () => {
  expect(Linker.downcall(process.get('strlen'), { result: 'uint64', parameters: ['pointer'] }).name).toBe('strlen')
})

test('a token that prints as one line is still a message of plain fields', () => {
  const token = shared.share()
  expect(structuredClone(token)).toEqual({ ...token })
})
