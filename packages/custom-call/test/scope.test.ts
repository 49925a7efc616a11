import { ScopeClosedError, ScopeHeldError, tensor } from '@tenon/core'
import { batch, customCall, f32, typedHandler } from '@tenon/custom-call'
import { NativeScope, ResourceScope } from '@tenon/scope'
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

  test('cannot be used by a run that a close action starts, and is closed', async () => {
    const scope = open()
    const before = ResourceScope.stats()
    const [a, out] = [
      tensor('f32', [4], [0, 1, 2, 3], { allocator: scope }),
      tensor('f32', [4], undefined, { allocator: scope }),
    ]
    const call = typedHandler(kernels, 'saxpy').prepare({ operands: [a, y], results: [out], attrs })
    const errors: unknown[] = []
    const attempts: (() => unknown)[] = [
      () => call.run([a, y], [out]),
      () => call.runAsync([a, y], [out]),
      () => call.bind([a, y], [out]),
      () => batch([{ call, operands: [a, y], results: [out] }]),
      () => saxpy([a, y], { results: [out], attrs }),
      () => saxpy.async([a, y], { results: [out], attrs }),
      () => saxpy([x, y], { results: [f32([4])], attrs, allocator: scope }),
    ]
    const settled: Promise<unknown>[] = []
    scope.addCloseAction(() => {
      for (const attempt of attempts)
        settled.push((async () => attempt())().catch((error: unknown) => errors.push(error)))
    })
    scope.close()
    await Promise.all(settled)
    expect(scope.isAlive).toBe(false)
    expect(errors).toStrictEqual(attempts.map(() => expect.any(ScopeClosedError) as unknown))
    expect(ResourceScope.stats().openScopes).toBe(before.openScopes - 1)
    call.close()
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

test('close actions of a prepared call, a bound call and a batch cannot run them', async () => {
  const call = typedHandler(kernels, 'saxpy').prepare({ operands: [x, y], results: [f32([4])], attrs })
  const out = tensor('f32', [4])
  const bound = call.bind([x, y], [out])
  const steps = batch([{ call, operands: [x, y], results: [out] }])
  const errors: unknown[] = []
  const settled: Promise<unknown>[] = []
  const attempt = (run: () => unknown) => (): void => {
    settled.push((async () => run())().catch((error: unknown) => errors.push(error)))
  }
  for (const one of [steps, bound]) {
    one.addCloseAction(attempt(() => one.run()))
    one.addCloseAction(attempt(() => one.runAsync()))
    one.close()
  }
  call.addCloseAction(attempt(() => call.run([x, y], [out])))
  call.addCloseAction(attempt(() => call.runAsync([x, y], [out])))
  call.addCloseAction(attempt(() => call.bind([x, y], [out])))
  call.close()
  await Promise.all(settled)
  expect(errors).toStrictEqual(Array.from({ length: 7 }, () => expect.any(ScopeClosedError) as unknown))
  expect(out.toArray()).toStrictEqual([0, 0, 0, 0])
})
