import { from, ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { NativeScope, ResourceScope } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub } from '../src/linker.ts'

const libc = SymbolLookup.ofProcess()

describe('a tensor for a pointer', () => {
  const memcpy = Linker.downcall(libc.get('memcpy'), {
    result: 'pointer',
    parameters: ['pointer', 'pointer', 'uint64'],
  })

  test('is passed and held as its segment is', async () => {
    const scope = NativeScope.ofConfined()
    const x = tensor('int32', [2, 2], scope.allocate(16, 4))
    expect(memcpy(x, from(Int32Array.of(1, 2, 3, 4)), 16).address).toBe(x.segment.address)
    expect(x.toNested()).toEqual([
      [1, 2],
      [3, 4],
    ])
    const closing = upcallStub(() => scope.close(), { parameters: ['pointer'] }, scope)
    expect(() => Linker.downcall(closing, { parameters: ['pointer'] })(x)).toThrow(ScopeHeldError)
    expect(() => memcpy(x.transpose(), x, 16)).toThrow(/argument 1 of memcpy must be contiguous/)
    await memcpy.async(x, from(Int32Array.of(5)), 4)
    expect(x.at(0, 0)).toBe(5)
    scope.close()
    expect(() => memcpy(x, x, 4)).toThrow(ScopeClosedError)
  })

  test('is a result of a callback, if its memory is open', () => {
    using stubs = ResourceScope.ofConfined()
    const scope = NativeScope.ofConfined()
    const x = tensor('int32', [2], scope.allocate(8, 4))
    const stub = upcallStub(() => x, { result: 'pointer' }, stubs)
    const call = Linker.downcall(stub, { result: 'pointer' })
    expect(call().address).toBe(x.segment.address)
    scope.close()
    expect(call).toThrow(ScopeClosedError)
  })
})
