import { ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import { customCall, f32, typedHandler } from '@tenon/custom-call'
import { NativeScope } from '@tenon/scope'
import { describe, expect, test } from 'vitest'
import { filled, kernels } from './kernels.ts'

const attrs = { a: f32(2) }
const [x, y] = [filled([4], (i) => i), filled([4], () => 1)]

describe.each(['confined', 'shared'] as const)('memory of a %s scope', (kind) => {
  const open = (): NativeScope => (kind === 'confined' ? NativeScope.ofConfined() : NativeScope.ofShared())
  const saxpy = customCall(kernels, 'saxpy')

  test('has the results that are allocated in it, until it is closed', () => {
    const scope = open()
    const sum = saxpy([x, y], { results: [f32([4])], attrs, allocator: scope })
    expect(sum.segment.lifetime).toBe(scope)
    expect(sum.segment.address % 64n).toBe(0n)
    expect(sum.toArray()).toStrictEqual([1, 3, 5, 7])
    scope.close()
    expect(() => saxpy([x, sum], { results: [f32([4])], attrs })).toThrow(ScopeClosedError)
    expect(() => saxpy([x, y], { results: [sum], attrs })).toThrow(ScopeClosedError)
    expect(() => saxpy([x, y], { results: [f32([4])], attrs, allocator: scope })).toThrow(ScopeClosedError)
  })

  test('stays open while a bound call uses it', () => {
    const scope = open()
    const mine = tensor('f32', [4], scope.allocate(16, 64))
    const call = typedHandler(kernels, 'saxpy').prepare({ operands: [x, mine], results: [mine], attrs })
    const bound = call.bind([x, mine], [mine])
    bound.run()
    bound.run()
    expect(mine.toArray()).toStrictEqual([0, 4, 8, 12])
    expect(() => scope.close()).toThrow(ScopeHeldError)
    bound.close()
    scope.close()
    expect(() => call.run([x, mine], [mine])).toThrow(ScopeClosedError)
    call.close()
  })
})
