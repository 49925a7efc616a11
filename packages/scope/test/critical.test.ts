import { expect, test } from 'vitest'
import { MemoryLayout, NativeScope, toCString } from '../src/index.ts'
import { Linker, SymbolLookup } from '../src/linker.ts'

// A critical function runs on the stack of JavaScript, and nothing is restored after it.

const { int32 } = MemoryLayout
const libc = SymbolLookup.ofProcess()

test('critical functions are called with segments, texts, structs and errno', () => {
  using scope = NativeScope.ofConfined()
  const critical = { critical: true } as const
  const strlen = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['pointer'] }, critical)
  expect(strlen(toCString('critical', scope))).toBe(8n)
  const ofText = Linker.downcall(libc.get('strlen'), { result: 'uint64', parameters: ['text'] }, critical)
  expect(ofText('text')).toBe(4n)
  const layout = MemoryLayout.struct({ quot: int32, rem: int32 })
  const div = Linker.downcall(libc.get('div'), { result: layout, parameters: ['int32', 'int32'] }, critical)
  expect([div(scope, 7, 2).getInt32(0), div(scope, 7, 2).getInt32(4)]).toEqual([3, 1])
  const types = { result: 'int32', parameters: ['pointer', 'int32'] } as const
  const open = Linker.downcall(libc.get('open'), types, { captureErrno: true, critical: true })
  expect(open(toCString('/no/such/file', scope), 0)).toEqual({ value: -1, errno: 2 })
})

test('a stub that a critical function calls does not run, and the call is an error', () => {
  using scope = NativeScope.ofConfined()
  let calls = 0
  const compare = { result: 'int32', parameters: ['pointer', 'pointer'] } as const
  const stub = Linker.upcallStub(() => ++calls, compare, scope)
  const types = { parameters: ['pointer', 'uint64', 'uint64', 'pointer'] } as const
  const qsort = Linker.downcall(libc.get('qsort'), types, { critical: true })
  const memory = scope.allocate(64)
  for (let i = 0; i < 3; i++) {
    expect(() => qsort(memory, 16, 4, stub)).toThrow(
      /qsort is not critical, because it called a function of TypeScript/,
    )
  }
  expect(calls).toBe(0)
  Linker.downcall(libc.get('qsort'), types)(memory, 16, 4, stub)
  expect(calls).toBeGreaterThan(0)
})
